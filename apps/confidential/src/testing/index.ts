/** Parts of the broker that tests use without the whole: its TLS keys and evidence, and its readers of untrusted bytes. */

export { readChatQuestion } from '../chat/chat-question.ts';
export { readEmbeddingsQuestion } from '../embeddings/embeddings-operation.ts';
export { exportedValue } from '../gateway/exported-value.ts';
export { makeEvidence } from '../gateway/make-evidence.ts';
export { obtainSecrets } from '../keeper/obtain-secrets.ts';
export { problemOfPlainHttp } from '../providers/check-registry.ts';
export type { ProviderSet } from '../providers/provider-set.ts';
export { readReceiptSecret } from '../receipts/receipt-secret.ts';
export { readAnnouncement } from '../sealed/sealed-announcement.ts';
export { readSealedBody } from '../sealed/sealed-body.ts';
export { openTls, tlsOptions } from '../tls/open-tls.ts';
export { TlsKeeper } from '../tls/tls-keeper.ts';
export { makeTlsKey, type TlsKey } from '../tls/tls-key.ts';
