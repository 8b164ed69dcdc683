export { type AttestedKey, type EnclaveKey, readPublicKey } from './e2ee/enclave-key.ts';
export { type SealOptions, sealChat } from './e2ee/seal-chat.ts';
export type { SealedRequest } from './e2ee/sealed-request.ts';
export { ClientError, type ClientErrorCode, clientErrors } from './errors.ts';
