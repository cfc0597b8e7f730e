import Joi from 'joi'
import { findBilling } from '../../sql/webhooks/payments.ts'
import { endpoint } from '../endpoint.ts'
import { nullable, times } from '../fields.ts'

export const showBilling = endpoint('GET', '/billing', {
  summary: "Read the organization's plan and grace period",
  access: 'global-admin',
  answers: {
    200: Joi.object({
      plan: Joi.string().required(),
      grace_period_ends: nullable(times).description('Set while a payment is overdue'),
      degraded: Joi.boolean()
        .required()
        .description('The grace period is over: the limits of the free plan hold'),
      billing_contact: nullable(Joi.string()),
    }).label('Billing'),
  },
  handle: ({ context, principal }) => findBilling(context.sql, principal.orgId),
})
