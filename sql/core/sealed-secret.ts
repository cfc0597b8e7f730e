/** A secret of an organization as it is stored, sealed with the master key. */
export interface SealedSecret {
  org_id: string
  secret: Buffer
}
