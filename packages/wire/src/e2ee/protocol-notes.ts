import type { E2eeProtocolName } from './protocols.ts';

/** What a page says about a protocol beside its properties. */
export interface E2eeProtocolNotes {
  readonly name: string;
  /** The parts of a request that a relay can read and change. */
  readonly clearFields: readonly string[];
  /** Other endpoints of the enclave that open a ciphertext for the same key. */
  readonly otherEndpoints: readonly string[];
  /** The fields of a reply that the enclave writes in clear if a relay asks for them. The client refuses such replies. */
  readonly repliesInClear: readonly string[];
}

const settings = ['model', 'provider policy', 'roles', 'number of messages', 'settings', 'lengths'] as const;
/** What the header `x-router-e2ee` says of a body that is encrypted whole, and its length. */
const question = ['model', 'provider policy', 'reasoning effort', 'whether it streams', 'length'] as const;

/** The notes on each protocol, from the sources that `e2eeProtocols` names. They are apart, because the client needs none. */
export const e2eeProtocolNotes: Readonly<Record<E2eeProtocolName, E2eeProtocolNotes>> = {
  near: {
    name: 'NEAR AI',
    clearFields: settings,
    otherEndpoints: ['completions', 'tokenize', 'embeddings', 'rerank', 'score', 'images', 'audio/transcriptions'],
    // Without the header `x-encrypt-all-fields`, which a relay can strip.
    repliesInClear: ['logprobs', 'tool_calls', 'refusal'],
  },
  'phala-vllm-proxy': {
    name: 'Phala, dstack-vllm-proxy',
    clearFields: settings,
    otherEndpoints: ['completions', 'embeddings'],
    repliesInClear: ['logprobs', 'tool_calls'],
  },
  'phala-aci': {
    name: 'Phala, private-ai-gateway',
    clearFields: settings,
    otherEndpoints: ['completions', 'embeddings'],
    repliesInClear: ['logprobs', 'tool_calls'],
  },
  venice: {
    name: 'Venice',
    clearFields: settings,
    otherEndpoints: [],
    repliesInClear: ['logprobs', 'tool_calls'],
  },
  tinfoil: {
    name: 'Tinfoil',
    clearFields: question,
    // The path is in clear. The reply of another endpoint is sealed to the same request.
    otherEndpoints: ['any path'],
    repliesInClear: [],
  },
  chutes: {
    name: 'Chutes',
    clearFields: question,
    otherEndpoints: ['any path'],
    repliesInClear: [],
  },
};
