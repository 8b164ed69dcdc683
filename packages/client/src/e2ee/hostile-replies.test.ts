import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ClientError } from '../errors.ts';
import { type Exchanged, exchange, openStream, openWhole, type Shown } from './testing/exchange.ts';
import { type EnclaveAnswer, type StandInKind, standInEnclave, standInKinds } from './testing/index.ts';

/** One kind for each protocol that encrypts fields: the curve does not affect how replies are read. */
const fieldKinds = ['near-ed25519', 'phala-aci-x25519', 'phala-vllm-proxy-ed25519', 'venice'] as const;
const wholeFieldKinds = fieldKinds.filter((kind) => kind !== 'venice');
const evil = 'SHOW-ME';

type Json = Record<string, unknown>;
interface Choice {
  readonly delta: Json;
  readonly message: Json;
}

/** Few chunks, because each one costs a key agreement. */
const speak = () => ({ reasoning: ['Hm.'], content: ['Hel', 'lo.'] });

const ask = (kind: StandInKind, stream: boolean): Promise<Exchanged> =>
  exchange(standInEnclave(kind, { speak }), { model: 'm', messages: [{ role: 'user', content: 'Hello?' }], stream });

const framed = (payload: unknown): Buffer => Buffer.from(`data: ${JSON.stringify(payload)}\n\n`);

/** Opens a stream whose events, as text, were changed. */
async function streamChanged(kind: StandInKind, change: (events: string[]) => readonly string[]): Promise<Shown> {
  const exchanged = await ask(kind, true);
  const events = exchanged.answer.pieces.map((piece) => Buffer.from(piece).toString());
  return openStream(
    exchanged,
    change(events).map((event) => Buffer.from(event)),
  );
}

/** Changes the first chunk whose delta holds content. */
const inFirstSpoken = (change: (chunk: Json & { choices: Choice[] }) => void) => (events: string[]) => {
  const at = events.findIndex((event) => /"content": ?"[0-9a-f]/.test(event));
  expect(at).toBeGreaterThan(0);
  const chunk = JSON.parse(String(events[at]).slice(6)) as Json & { choices: Choice[] };
  change(chunk);
  return events.with(at, framed(chunk).toString());
};
const inDelta = (change: (delta: Json) => void) =>
  inFirstSpoken(({ choices: [choice] }) => {
    if (choice) change(choice.delta);
  });

function expectRefused(shown: Shown, code: string): void {
  expect(shown.failure).toBeInstanceOf(ClientError);
  expect(shown.failure).toMatchObject({ code });
  expect(shown.text).not.toContain(evil);
  expect(shown.text).not.toContain('[DONE]');
  expect(JSON.stringify([(shown.failure as ClientError).message, (shown.failure as ClientError).stack])).not.toContain(
    evil,
  );
}

describe.each(fieldKinds)('a stream of %s that holds plaintext', (kind) => {
  const plaintext: Record<string, (events: string[]) => readonly string[]> = {
    'as content': inDelta((delta) => Object.assign(delta, { content: evil })),
    'as content that is hex, yet no ciphertext': inDelta((delta) =>
      Object.assign(delta, { content: Buffer.from(evil).toString('hex') }),
    ),
    'behind a ciphertext': inDelta((delta) => Object.assign(delta, { content: `${delta.content}${evil}` })),
    'as reasoning': inDelta((delta) => Object.assign(delta, { reasoning: evil })),
    'as reasoning_content': inDelta((delta) => Object.assign(delta, { reasoning_content: evil })),
    'as a refusal': inDelta((delta) => Object.assign(delta, { refusal: evil })),
    'as a role': inDelta((delta) => Object.assign(delta, { role: evil })),
    'as tool arguments': inDelta((delta) =>
      Object.assign(delta, { tool_calls: [{ function: { name: evil, arguments: evil } }] }),
    ),
    'in content parts': inDelta((delta) => Object.assign(delta, { content: [{ type: 'text', text: evil }] })),
    'as a number': inDelta((delta) => Object.assign(delta, { content: 42 })),
    'under a name of its own': inDelta((delta) => Object.assign(delta, { answer: evil })),
    'as log probabilities': inFirstSpoken(({ choices: [choice] }) =>
      Object.assign(choice ?? {}, { logprobs: { content: [{ token: evil }] } }),
    ),
    'as text of a completion': inFirstSpoken(({ choices: [choice] }) => Object.assign(choice ?? {}, { text: evil })),
  };

  it.each(Object.entries(plaintext))('%s is an error, and is not shown', async (_, change) => {
    expectRefused(await streamChanged(kind, change), 'e2ee_reply_not_encrypted');
  });

  it('anywhere else is not shown', async () => {
    const shown = await streamChanged(
      kind,
      inFirstSpoken((chunk) => {
        Object.assign(chunk, { system_fingerprint: evil, note: evil, usage: { note: evil } });
        Object.assign(chunk.choices[0] ?? {}, { stop_reason: evil });
      }),
    );
    expect(shown.text).not.toContain(evil);
  });
});

describe.each(fieldKinds)('a damaged stream of %s', (kind) => {
  const damage: Record<string, [(events: string[]) => readonly string[], string]> = {
    'a bit of a ciphertext flipped': [
      inDelta((delta) => {
        const content = String(delta.content);
        const last = content.endsWith('0') ? '1' : '0';
        delta.content = content.slice(0, -1) + last;
      }),
      'e2ee_decryption_failed',
    ],
    'a letter that is no hex': [
      inDelta((delta) => Object.assign(delta, { content: `${String(delta.content).slice(0, -1)}x` })),
      'e2ee_reply_not_encrypted',
    ],
    'an event repeated': [
      (events) => events.flatMap((event) => (/"content": ?"[0-9a-f]/.test(event) ? [event, event] : [event])),
      'e2ee_reply_out_of_order',
    ],
    'an event that is no JSON': [(events) => events.with(2, `data: ${evil}\n\n`), 'e2ee_reply_malformed'],
    'a line that is no event': [(events) => events.with(2, `${evil}\n\n`), 'e2ee_reply_malformed'],
    'two choices': [inFirstSpoken((chunk) => chunk.choices.push({ delta: {}, message: {} })), 'e2ee_reply_malformed'],
    'an unknown finish reason': [
      inFirstSpoken(({ choices: [choice] }) => Object.assign(choice ?? {}, { finish_reason: evil })),
      'e2ee_reply_malformed',
    ],
    'no end': [(events) => events.slice(0, -1), 'e2ee_reply_truncated'],
    'an end before the model finished': [
      (events) => [...events.slice(0, 4), ...events.slice(-1)],
      'e2ee_reply_truncated',
    ],
    'the failure that the broker reports': [
      (events) => [
        ...events.slice(0, 4),
        framed({ error: { message: evil, type: 'provider_error', request_id: evil }, choices: [] }).toString(),
      ],
      'e2ee_provider_failed',
    ],
  };

  it.each(Object.entries(damage))('with %s is an error', async (_, [change, code]) => {
    expectRefused(await streamChanged(kind, change), code);
  });
});

describe.each(standInKinds)('any stream of %s', { timeout: 30_000 }, (kind) => {
  it('that continues after its end is an error', async () => {
    const exchanged = await ask(kind, true);
    const { pieces } = exchanged.answer;
    const more =
      kind === 'tinfoil' ? pieces.slice(1, 2) : [framed({ choices: [{ index: 0, delta: { content: evil } }] })];
    const shown = await openStream(exchanged, [...pieces, ...more]);
    expect(shown.failure).toBeInstanceOf(ClientError);
    expect(shown.text).not.toContain(evil);
  });

  it('that is cut anywhere is an error', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (cut) => {
        const exchanged = await ask(kind, true);
        const bytes = Buffer.concat(exchanged.answer.pieces);
        // The bytes after the end carry no content: blank lines and, with Chutes, an unencrypted `[DONE]`.
        const end = kind === 'chutes' ? bytes.length - 16 : bytes.length - 2;
        const shown = await openStream(exchanged, [bytes.subarray(0, cut % end)]);
        expect(shown.failure).toBeInstanceOf(ClientError);
        expect(shown.text).not.toContain('[DONE]');
      }),
      { numRuns: 6 },
    );
  });

  it('that is empty is incomplete', async () => {
    expectRefused(await openStream(await ask(kind, true), []), 'e2ee_reply_truncated');
  });

  it('from another enclave does not open', async () => {
    const mine = await ask(kind, true);
    const { answer } = await ask(kind, true);
    expectRefused(await openStream({ sealed: mine.sealed, answer }), 'e2ee_decryption_failed');
  });

  it('that is not encrypted is an error, and is not shown', async () => {
    const exchanged = await ask(kind, true);
    const chunk = { id: 'x', choices: [{ index: 0, delta: { content: evil }, finish_reason: 'stop' }] };
    const shown = await openStream(exchanged, [framed(chunk), Buffer.from('data: [DONE]\n\n')]);
    expect(shown.failure).toBeInstanceOf(ClientError);
    expect(shown.text).toBe('');
  });
});

const without = (answer: EnclaveAnswer, name: string): EnclaveAnswer => ({
  ...answer,
  headers: Object.fromEntries(Object.entries(answer.headers).filter(([key]) => key !== name)),
});

describe('a reply whose headers do not say that it is encrypted', () => {
  const marks = { phala: 'x-e2ee-applied', tinfoil: 'ehbp-response-nonce' } as const;
  const kinds = standInKinds.filter((kind) => kind.startsWith('phala') || kind === 'tinfoil');

  it.each(kinds)('of %s is not read', async (kind) => {
    const name = kind === 'tinfoil' ? marks.tinfoil : marks.phala;
    for (const stream of [true, false]) {
      const exchanged = await ask(kind, stream);
      const answer = without(exchanged.answer, name);
      const failure = stream
        ? (await openStream({ ...exchanged, answer })).failure
        : await openWhole({ ...exchanged, answer }).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: 'e2ee_reply_not_encrypted' });
    }
  });
});

describe.each(wholeFieldKinds)('a whole reply of %s', (kind) => {
  const refused: Record<string, [(message: Json) => void, string]> = {
    'content in clear': [(message) => Object.assign(message, { content: evil }), 'e2ee_reply_not_encrypted'],
    'reasoning in clear': [(message) => Object.assign(message, { reasoning: evil }), 'e2ee_reply_not_encrypted'],
    'tool calls': [
      (message) => Object.assign(message, { tool_calls: [{ function: { arguments: evil } }] }),
      'e2ee_reply_not_encrypted',
    ],
    'audio in clear': [
      (message) => Object.assign(message, { audio: { transcript: evil } }),
      'e2ee_reply_not_encrypted',
    ],
    'content of another reply': [
      (message) => Object.assign(message, { content: String(message.content).replace(/.{8}$/, '00000000') }),
      'e2ee_decryption_failed',
    ],
  };

  it.each(Object.entries(refused))('with %s is an error', async (_, [change, code]) => {
    const exchanged = await ask(kind, false);
    const completion = JSON.parse(Buffer.concat(exchanged.answer.pieces).toString()) as { choices: Choice[] };
    const [choice] = completion.choices;
    if (choice) change(choice.message);
    const answer = { ...exchanged.answer, pieces: [Buffer.from(JSON.stringify(completion))] };
    const failure = await openWhole({ ...exchanged, answer }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code });
    expect(String((failure as Error).stack)).not.toContain(evil);
  });
});

describe.each(wholeFieldKinds)('a whole reply of %s that is cut short', (kind) => {
  const cut: Record<string, [(completion: { choices: Json[] }) => string, string]> = {
    'within its JSON': [(completion) => JSON.stringify(completion).slice(0, -1), 'e2ee_reply_malformed'],
    'to no answer at all': [() => JSON.stringify({ id: 'x', choices: [] }), 'e2ee_reply_truncated'],
    'before the model finished': [
      ({ choices: [choice] }) =>
        JSON.stringify({ id: 'x', choices: [{ ...choice, message: {}, finish_reason: null }] }),
      'e2ee_reply_truncated',
    ],
  };

  it.each(Object.entries(cut))('%s is an error', async (_, [change, code]) => {
    const exchanged = await ask(kind, false);
    const completion = JSON.parse(Buffer.concat(exchanged.answer.pieces).toString()) as { choices: Json[] };
    const answer = { ...exchanged.answer, pieces: [Buffer.from(change(completion))] };
    await expect(openWhole({ ...exchanged, answer })).rejects.toMatchObject({ code });
  });
});

describe('fields whose place is authenticated', () => {
  const bound = standInKinds.filter((kind) => kind.startsWith('phala'));

  it.each(bound)('of %s do not open in another place', async (kind) => {
    const shown = await streamChanged(
      kind,
      inDelta((delta) => {
        delta.reasoning_content = delta.content;
        delete delta.content;
      }),
    );
    expectRefused(shown, 'e2ee_decryption_failed');
  });

  it.each(bound)('of %s do not open under another id', async (kind) => {
    expectRefused(
      await streamChanged(
        kind,
        inFirstSpoken((chunk) => Object.assign(chunk, { id: 'chatcmpl-other' })),
      ),
      'e2ee_decryption_failed',
    );
  });
});

describe('frames of Tinfoil', () => {
  const change = async (reorder: (frames: readonly Uint8Array[]) => readonly Uint8Array[]): Promise<Shown> => {
    const exchanged = await ask('tinfoil', true);
    return openStream(exchanged, reorder(exchanged.answer.pieces));
  };

  it('that are swapped, dropped or repeated do not open', async () => {
    const swapped = await change(([a, b, c, d, ...rest]) =>
      [a, b, d, c, ...rest].filter((frame) => frame !== undefined),
    );
    expectRefused(swapped, 'e2ee_decryption_failed');
    expectRefused(await change((frames) => frames.toSpliced(3, 1)), 'e2ee_decryption_failed');
    expectRefused(
      await change((frames) => frames.toSpliced(3, 0, frames[2] ?? Buffer.alloc(0))),
      'e2ee_decryption_failed',
    );
  });

  it('dropped at the end leave the reply incomplete', async () => {
    expectRefused(await change((frames) => frames.slice(0, -1)), 'e2ee_reply_truncated');
  });

  it('that announce more than the limit are refused before they arrive', async () => {
    expectRefused(await change(() => [Buffer.from('ffffffff', 'hex')]), 'e2ee_reply_too_large');
  });
});

describe('events of Chutes', () => {
  const reordered: Record<string, [(events: string[]) => readonly string[], string]> = {
    'the key sent twice': [(events) => events.toSpliced(2, 0, events[0] ?? ''), 'e2ee_reply_out_of_order'],
    'the key after the first event': [([a, b, ...rest]) => [b ?? '', a ?? '', ...rest], 'e2ee_reply_out_of_order'],
    'no key': [(events) => events.slice(1), 'e2ee_reply_out_of_order'],
    'an event repeated': [(events) => events.toSpliced(4, 0, events[3] ?? ''), 'e2ee_reply_out_of_order'],
    'an end in clear instead of the sealed one': [(events) => events.toSpliced(-2, 1), 'e2ee_reply_truncated'],
    'a chunk in clear': [
      (events) => events.toSpliced(3, 0, framed({ choices: [{ delta: { content: evil } }] }).toString()),
      'e2ee_reply_not_encrypted',
    ],
    'a chunk in clear that looks like counts': [
      (events) => events.toSpliced(3, 0, framed({ usage: {}, choices: [{ delta: { content: evil } }] }).toString()),
      'e2ee_reply_not_encrypted',
    ],
    'text in clear': [(events) => events.toSpliced(3, 0, `data: ${evil}\n\n`), 'e2ee_reply_not_encrypted'],
    'what is no base64': [(events) => events.with(3, framed({ e2e: `${evil}!` }).toString()), 'e2ee_reply_malformed'],
    'a key too short': [(events) => events.with(0, framed({ e2e_init: 'AAAA' }).toString()), 'e2ee_reply_malformed'],
    'a failure': [(events) => events.toSpliced(3, 0, framed({ e2e_error: evil }).toString()), 'e2ee_provider_failed'],
  };

  it.each(Object.entries(reordered))('with %s are an error', async (_, [change, code]) => {
    expectRefused(await streamChanged('chutes', change), code);
  });
});
