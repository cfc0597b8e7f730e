import Joi from 'joi'

/** The identifier of a license as hubs know it. */
export const licenseText = () =>
  Joi.string<string>().pattern(/^[a-z0-9][a-z0-9.+-]{0,63}$/, 'identifier of a license')
