/** The parts of the client that a test's page needs beyond its entry. The rest of this folder needs Node. */

export { vouchForKey } from '../e2ee/enclave-key.ts';
