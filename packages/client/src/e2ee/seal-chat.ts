import { ClientError } from '../errors.ts';
import { type RandomBytes, secureRandom } from './bytes.ts';
import { type AttestedKey, assertVouched } from './enclave-key.ts';
import type { Sealing, SealingInput } from './family.ts';
import { SealedRequest } from './sealed-request.ts';
import { readTextChat, type TextChat } from './text-chat.ts';

export interface SealOptions {
  /**
   * The output limit, in tokens, for a request that names none. The service computes the hold with it, so the enclave
   * must get it.
   */
  readonly maxOutputTokens?: number;
  /**
   * Separates caches: Tinfoil's enclave shares a cached prompt only among requests with the same secret. It is sealed with
   * the body. Other families do not get it.
   */
  readonly cacheSecret?: string;
  /** Unix milliseconds. Default: the current time. */
  readonly now?: number;
  readonly random?: RandomBytes;
}

/**
 * Encrypts an OpenAI-shaped chat request to an enclave whose key was verified. Each call uses fresh keys, so a later
 * turn sends the whole conversation again. The family's code is loaded on first use. It sends nothing.
 *
 * Throws `ClientError`: `attestation_untrusted`, `e2ee_request_*`, `e2ee_key_*`.
 */
export async function sealChat(
  key: AttestedKey,
  body: unknown,
  { maxOutputTokens, cacheSecret, now = Date.now(), random = secureRandom }: SealOptions = {},
): Promise<SealedRequest> {
  assertVouched(key);
  const chat = withCeiling(readTextChat(body), maxOutputTokens);
  const { headers, body: sealed, opener } = await sealWith(key, { chat, random, now, cacheSecret });
  return new SealedRequest({ family: key.family, headers, body: sealed, opener });
}

function withCeiling(chat: TextChat, maxOutputTokens: number | undefined): TextChat {
  const { max_tokens, max_completion_tokens } = chat.settings;
  if (maxOutputTokens === undefined || (max_tokens ?? max_completion_tokens) !== undefined) return chat;
  return { ...chat, settings: { ...chat.settings, max_tokens: maxOutputTokens } };
}

type Rest = Omit<SealingInput<AttestedKey>, 'key'>;

/** Each family is a separate module, so that a page without end-to-end encryption loads none of them. */
async function sealWith(key: AttestedKey, rest: Rest): Promise<Sealing> {
  switch (key.family) {
    case 'near':
      return (await import('./near/near-family.ts')).nearFamily.seal({ key, ...rest });
    case 'phala':
      return (await import('./phala/phala-family.ts')).phalaFamily.seal({ key, ...rest });
    case 'venice':
      return (await import('./venice/venice-family.ts')).veniceFamily.seal({ key, ...rest });
    case 'tinfoil':
      return (await import('./tinfoil/tinfoil-family.ts')).tinfoilFamily.seal({ key, ...rest });
    case 'chutes':
      return (await import('./chutes/chutes-family.ts')).chutesFamily.seal({ key, ...rest });
    default:
      key satisfies never;
      throw new ClientError('e2ee_key_invalid');
  }
}
