/** Whether WebCrypto said that it does not know an algorithm: old browsers lack X25519. */
export const isUnsupported = (error: unknown): boolean =>
  error instanceof DOMException && error.name === 'NotSupportedError';
