export const INTERFACE_VERSION = '0.1.0'
