/** What a security alert says about a key: never the key itself. */
export interface AlertedKey {
  readonly label: string
  readonly key_prefix: string
  readonly scope: string
  readonly permissions: string
  readonly expires_at: Date | null
}

/** Tells the billing contact of a new key. Labels are quoted, so that none can pose as our text. */
export function keyCreatedMail(orgName: string, key: AlertedKey, creatorLabel: string, at: Date) {
  return {
    subject: 'A new API key was created',
    body: [
      `A new API key was created for the organization ${JSON.stringify(orgName)}.`,
      '',
      `Label: ${JSON.stringify(key.label)}`,
      `Key: ${key.key_prefix}`,
      `Scope: ${key.scope}`,
      `Permissions: ${key.permissions}`,
      `Expires: ${key.expires_at?.toISOString() ?? 'never'}`,
      `Created: ${at.toISOString()}, with the key ${JSON.stringify(creatorLabel)}`,
      '',
      'If nobody of you did this, revoke the key and the one it was created with.',
      '',
    ].join('\n'),
  }
}
