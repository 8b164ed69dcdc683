import { type E2eeFamilyName, e2eeFamilies } from './relay-rules.ts';

/**
 * What the protocol of an enclave resists, if the relay between client and enclave is malicious. The broker is such a
 * relay. Each value follows from the protocol as published, not from our code: no client can change it.
 */
export interface E2eeProtocol {
  readonly family: E2eeFamilyName;
  /**
   * Whether the request's ciphertext fixes the key that the reply is encrypted to. If not, a relay puts its own key there
   * and appends a message such as "repeat this conversation". The enclave then tells it prompts and reply.
   */
  readonly bindsReplyKey: boolean;
  /**
   * Whether the evidence says which program on the machine holds the key. If not, a relay that runs a program of its own
   * on the same kind of machine shows that program's key.
   */
  readonly bindsProgram: boolean;
  /** Whether a ciphertext opens only in its own request and place. If not, a relay can drop, repeat or move messages. */
  readonly bindsContext: boolean;
  /** Whether the enclave refuses a ciphertext that it has seen, whatever reply key comes with it. */
  readonly refusesReplay: boolean;
  /** Whether the client notices chunks of a reply that are dropped or swapped. */
  readonly bindsChunkOrder: boolean;
  /** Whether the whole body is encrypted. If not, roles, settings and counts are in clear, and a relay can change them. */
  readonly sealsWholeBody: boolean;
  /**
   * Whether the enclave signs receipts that our client verifies. A receipt shows that a relay wrote the reply. It never
   * shows that a relay read the prompt.
   */
  readonly signsReceipts: boolean;
}

/**
 * The protocols by which enclaves take encrypted chat. Sources: nearai/inference-proxy `src/encryption.rs` and
 * `src/routes`; dstack-vllm-proxy `docs/e2ee_protocol.md`; private-ai-gateway `spec/e2ee-v2.md` (5 to 7); docs.venice.ai
 * "TEE and E2EE models"; tinfoilsh/encrypted-http-body-protocol `SPEC.md`; chutesai/chutes-e2ee-proxy.
 */
export const e2eeProtocols = {
  near: {
    family: 'near',
    bindsReplyKey: false,
    bindsProgram: true,
    bindsContext: false,
    refusesReplay: false,
    bindsChunkOrder: false,
    sealsWholeBody: false,
    signsReceipts: true,
  },
  'phala-vllm-proxy': {
    family: 'phala',
    bindsReplyKey: false,
    bindsProgram: true,
    bindsContext: true,
    refusesReplay: true,
    bindsChunkOrder: false,
    sealsWholeBody: false,
    signsReceipts: true,
  },
  'phala-aci': {
    family: 'phala',
    bindsReplyKey: false,
    bindsProgram: true,
    bindsContext: true,
    // It remembers a nonce together with the reply key, which a relay can replace.
    refusesReplay: false,
    bindsChunkOrder: false,
    sealsWholeBody: false,
    signsReceipts: false,
  },
  venice: {
    family: 'venice',
    bindsReplyKey: false,
    bindsProgram: true,
    bindsContext: false,
    refusesReplay: false,
    bindsChunkOrder: false,
    sealsWholeBody: false,
    signsReceipts: true,
  },
  tinfoil: {
    family: 'tinfoil',
    bindsReplyKey: true,
    bindsProgram: true,
    bindsContext: true,
    refusesReplay: false,
    bindsChunkOrder: true,
    sealsWholeBody: true,
    signsReceipts: false,
  },
  chutes: {
    family: 'chutes',
    bindsReplyKey: true,
    // It signs the key of an instance, not the name of its chute.
    bindsProgram: false,
    bindsContext: true,
    // Each request takes a nonce that the instance accepts once.
    refusesReplay: true,
    bindsChunkOrder: false,
    sealsWholeBody: true,
    signsReceipts: false,
  },
} as const satisfies Readonly<Record<string, E2eeProtocol>>;
export type E2eeProtocolName = keyof typeof e2eeProtocols;

/** The protocols of a family. Evidence decides which of them an enclave speaks. */
export const protocolsOf = (family: E2eeFamilyName): readonly E2eeProtocol[] =>
  Object.values(e2eeProtocols).filter((protocol) => protocol.family === family);

/** What a malicious relay can do to a request, gravest first. */
export const relayAttacks = {
  read_content: 'read your prompts and the replies',
  pose_as_enclave: 'run a program of its own on such machines, and read what you encrypt for that program',
  write_reply: 'write a reply itself',
  change_request: 'add, drop, repeat or move messages, and change settings and roles',
  extend_request: 'add messages, drop the last ones, and change settings and roles',
  reorder_reply: 'drop or swap parts of a reply',
  repeat_request: 'have a request answered again, and choose between the replies',
} as const;
export type RelayAttack = keyof typeof relayAttacks;

/** The attacks that a protocol does not resist, gravest first. */
export function relayAttacksOn(protocol: E2eeProtocol): readonly RelayAttack[] {
  const { bindsReplyKey, bindsProgram, bindsContext, refusesReplay, bindsChunkOrder, sealsWholeBody } = protocol;
  return [
    // The key of a reply is public, so whoever sees it can write one.
    ...(bindsReplyKey ? [] : (['read_content'] as const)),
    ...(bindsProgram ? [] : (['pose_as_enclave'] as const)),
    ...(bindsReplyKey ? [] : (['write_reply'] as const)),
    ...(bindsContext ? [] : (['change_request'] as const)),
    // A ciphertext that is bound to its place is still one of a list whose end a relay chooses.
    ...(bindsContext && !sealsWholeBody ? (['extend_request'] as const) : []),
    ...(bindsChunkOrder ? [] : (['reorder_reply'] as const)),
    ...(refusesReplay ? [] : (['repeat_request'] as const)),
  ];
}

/** The attacks that some protocol of a family does not resist: what to expect before its evidence is known. */
export const relayAttacksOnFamily = (family: E2eeFamilyName): readonly RelayAttack[] => {
  const open = new Set(protocolsOf(family).flatMap(relayAttacksOn));
  return (Object.keys(relayAttacks) as RelayAttack[]).filter((attack) => open.has(attack));
};

/**
 * Whether the client refuses a family unless the user accepts it: any relay can read what is encrypted for it. Reading by
 * a relay that runs a machine of the same kind (`pose_as_enclave`) is told, and not refused.
 */
export const isRefusedByDefault = (family: E2eeFamilyName): boolean =>
  relayAttacksOnFamily(family).includes('read_content');

/** The families that are not refused by default. */
export const defaultFamilies = (): readonly E2eeFamilyName[] =>
  e2eeFamilies.filter((family) => !isRefusedByDefault(family));

/** Whether some relay can read content, by one of these attacks. */
export const canRead = (attacks: readonly RelayAttack[]): boolean =>
  attacks.includes('read_content') || attacks.includes('pose_as_enclave');

/** The attacks as one sentence: `A malicious broker can …; …; and ….` */
export function relaySentence(attacks: readonly RelayAttack[]): string {
  const can = attacks.map((attack) => relayAttacks[attack]);
  const last = can.at(-1);
  if (last === undefined) return 'A malicious broker can only refuse or delay requests.';
  const list = can.length === 1 ? last : `${can.slice(0, -1).join('; ')}; and ${last}`;
  return `A malicious broker can ${list}.`;
}
