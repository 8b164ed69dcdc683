/**
 * Every failure that the client itself finds (interface 7), with its message. Codes are stable; messages say nothing of
 * the content, of keys or of what another party wrote.
 */
export const clientErrors = {
  attestation_unavailable: 'There is no evidence to verify. Nothing of the content was sent.',
  attestation_untrusted: 'What would receive the content is not verified as required. Nothing of it was sent.',
  nonce_mismatch:
    'The evidence was not made for our nonce, origin and key set: it is old, or of another place. Nothing of the content was sent.',
  connection_not_verified: 'The connection is not to a TLS key that was verified. Nothing of the content was sent.',
  origin_invalid: 'An origin must be of the form https://host:port; plain http is for this machine only.',
  option_invalid: 'An option of the client is unknown or has a value that it does not take.',
  confidential_unreachable: 'The confidential origin cannot be reached. Nothing of the content was sent.',
  control_unreachable: 'The control origin cannot be reached. Nothing was sent to the confidential origin.',
  inference_ticket_failed: 'The control origin gave no usable ticket. Nothing of the content was sent.',
  attestation_ticket_failed: 'The control origin gave no usable ticket for the verification of the provider.',
  answer_lost:
    'The connection ended after the request was sent and before its answer began. It may have been served and charged: it is not repeated.',
  retry_refused:
    'An earlier try of this request was given up after it was sent. It may have been served and charged: it is not repeated.',
  e2ee_key_invalid: 'The encryption key of the enclave is not a key of its kind.',
  e2ee_key_used: 'This key material serves one request only. Verify the enclave again for the next one.',
  e2ee_key_expired: 'This key material has expired. Verify the enclave again.',
  e2ee_platform_unsupported: 'This platform lacks cryptography that the provider needs. Use a current browser or Node.',
  e2ee_request_invalid: 'The chat request is malformed.',
  e2ee_request_unsupported:
    'End-to-end-encrypted chat takes text messages and sampling settings only: no tools, images, attachments or other content.',
  e2ee_reply_not_encrypted: 'The reply holds content that the enclave did not encrypt. It was not shown.',
  e2ee_reply_malformed: 'The reply is not of the form that the provider family promises.',
  e2ee_reply_too_large: 'The reply exceeds what the client is ready to decrypt.',
  e2ee_reply_out_of_order: 'Parts of the reply are out of order or repeated.',
  e2ee_reply_truncated: 'The reply ended before it was complete.',
  e2ee_decryption_failed: 'The reply could not be decrypted: it is damaged, or not from the verified enclave.',
  e2ee_provider_failed: 'The provider reported a failure instead of completing the reply.',
} as const;

export type ClientErrorCode = keyof typeof clientErrors;

/** A failure found on the user's side, before anything was sent or instead of showing what came back. */
export class ClientError extends Error {
  readonly code: ClientErrorCode;
  /** The request field at fault, as a dotted path; only where `code` speaks of the request. */
  readonly param: string | undefined;

  /** `detail` is a sentence of our own that says more; never what another party wrote. */
  constructor(
    code: ClientErrorCode,
    param?: string,
    more: { readonly detail?: string; readonly cause?: unknown } = {},
  ) {
    const { detail, cause } = more;
    super(
      detail === undefined ? clientErrors[code] : `${clientErrors[code]} ${detail}`,
      cause === undefined ? {} : { cause },
    );
    this.name = 'ClientError';
    this.code = code;
    this.param = param;
  }
}
