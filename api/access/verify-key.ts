import Joi from 'joi'
import { endpoint } from '../endpoint.ts'
import { nullable } from '../fields.ts'

export const verifyKey = endpoint('GET', '/auth/verify', {
  summary: 'Check a credential and learn what it may do',
  access: 'key',
  answers: {
    200: Joi.object({
      status: Joi.string().valid('ok').required(),
      api_key_valid: Joi.boolean().valid(true).required(),
      scope: Joi.string().valid('global', 'workspace', 'project').required(),
      project_id: nullable(Joi.string().guid()),
      workspace_id: nullable(Joi.string().guid()),
      permissions: Joi.object({
        read: Joi.boolean().required(),
        write: Joi.boolean().required(),
        admin: Joi.boolean().required(),
      })
        .required()
        .label('Permissions'),
      require_manifest_on_ingest: Joi.boolean()
        .valid(false)
        .required()
        .description('Traces are taken in without a registered manifest'),
      message: Joi.string().required(),
    }).label('Verification'),
  },
  handle: async ({ principal: { scope, projectId, workspaceId, permissions } }) => ({
    status: 'ok',
    api_key_valid: true,
    scope,
    project_id: projectId,
    workspace_id: workspaceId,
    permissions: {
      read: true,
      write: permissions !== 'read',
      admin: permissions === 'admin',
    },
    require_manifest_on_ingest: false,
    message: 'The credential is valid',
  }),
})
