/** What a test's page needs of the client beyond its entry. The rest of this folder needs Node. */

export { vouchForKey } from '../e2ee/enclave-key.ts';
