import { defaultFamilies } from '@sotto/wire';

/**
 * Every failure that the client itself finds, with its message: the failure, what happened to the content, and what to
 * do. Codes are stable. Messages never contain content, keys or another party's words.
 */
export const clientErrors = {
  attestation_unavailable:
    'There is no evidence to verify. Your content was not sent. Check the origin, or retry later.',
  attestation_untrusted:
    'Verification failed: the verdict is too weak, or the evidence is not shown to be up to date. Your content was not sent. `sotto verify` shows every check.',
  nonce_mismatch:
    'The evidence does not match our nonce, origin, connection and key set: it is old or relayed, or it describes another server. Your content was not sent. Check the origin.',
  connection_not_verified:
    'The connection has another TLS key or key set than was verified. Your content was not sent. Retry; if it fails again, another party may be terminating TLS.',
  origin_invalid: 'Write an origin as `https://host` or `https://host:port`. Plain http works only for this machine.',
  option_invalid: 'An option of the client is unknown or has an invalid value.',
  confidential_unreachable:
    'The confidential origin cannot be reached. Your content was not sent. Check the address and your network, then retry.',
  control_unreachable:
    'The client got no valid answer from the control origin. Your content was not sent. Check the address and your network, then retry.',
  wallet_expired:
    'This anonymous wallet has been in use for a day. Your content was not sent. Start the command again for a new one.',
  inference_ticket_failed: 'The control origin returned no usable ticket. Your content was not sent. Retry.',
  attestation_ticket_failed:
    'The control origin gave no ticket to verify the provider with. Your content was not sent. Retry.',
  answer_lost:
    'The connection ended after the request was sent and before the answer began. The service may have run and charged it, so the client does not resend it. Check your usage before you repeat it.',
  answer_too_large:
    'The answer is larger than this client holds in memory (128 MiB), so the client discarded it. It may be charged. Check your usage before you repeat the request.',
  answer_redirected:
    'The service answered with a redirect. It may still be charged. Check your usage before you repeat the request.',
  retry_refused:
    'This request repeats one that was abandoned after it was sent. The service may have run and charged the first, so the client did not send this one. Check your usage before you repeat it.',
  tool_call_unproven:
    'The answer calls a tool, and no receipt of the verified broker proves its bytes. The client discarded the call. The answer may be charged: check your usage before you repeat the request.',
  e2ee_relay_can_read: `A malicious broker could read this chat: the protocol of this provider does not bind the key of the reply. Your content was not sent. Choose a provider whose pins name the family ${defaultFamilies().join(' or ')}. To accept the risk, set \`acceptRelayAttacks\` (\`--accept-relay-attacks\`).`,
  e2ee_key_invalid: "The enclave's encryption key is malformed. Your content was not sent. Verify the enclave again.",
  e2ee_key_used: 'This encryption key was already used, and it allows one request. Verify the enclave again.',
  e2ee_key_expired: 'This encryption key has expired. Your content was not sent. Verify the enclave again.',
  e2ee_platform_unsupported:
    'This platform lacks cryptography that the provider needs. Your content was not sent. Use a current browser or Node.',
  e2ee_request_invalid: 'The chat request is malformed. It was not sent. Correct the field in `param`.',
  e2ee_request_unsupported:
    'An encrypted chat has only text and sampling settings: no tools, images or attachments. The request was not sent.',
  e2ee_reply_not_encrypted:
    'The reply contains content that the enclave did not encrypt. The client discarded it. Report the provider.',
  e2ee_reply_malformed:
    "The reply does not follow the provider's encryption protocol. The client discarded it. Report the provider.",
  e2ee_reply_too_large: 'The reply is larger than the client decrypts. The client discarded it. Report the provider.',
  e2ee_reply_out_of_order:
    'Parts of the reply are repeated or out of order. The client discarded them. Report the provider.',
  e2ee_reply_truncated:
    'The reply ended early. It may still be charged. Check your usage before you repeat the request.',
  e2ee_decryption_failed:
    'The reply cannot be decrypted: it is damaged, or the verified enclave did not write it. Report the provider.',
  e2ee_provider_failed:
    'The provider failed before the reply was complete. It may still be charged. Check your usage before you repeat the request.',
} as const;

export type ClientErrorCode = keyof typeof clientErrors;

/** Thrown when the client finds a failure before it sends anything, or instead of showing a reply. */
export class ClientError extends Error {
  readonly code: ClientErrorCode;
  /** The request field at fault, as a dotted path. Only set if `code` is about the request. */
  readonly param: string | undefined;

  /** `detail` adds a sentence in the client's own words, never another party's. */
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
