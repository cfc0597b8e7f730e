/** Of the project that the doubles have. */
export const PROJECT_ID = '01900000-0000-7000-8000-aaaaaaaaaaaa'
export const PROJECT_NAME = 'shop & support'
export const PUBLIC_KEY = 'pk-lf-of-the-doubles'
/**
 * What the doubles know their client by. It looks like one of our own keys, so that every test file with
 * a service ends with a search for it in the log and in all tables.
 */
export const PLATFORM_KEY = `svc_sk_${'Pk7'.repeat(13).slice(0, 38)}`
