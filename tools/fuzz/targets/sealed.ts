import { ClientError, readPublicKey } from '@sotto/client';
import {
  exchange,
  FrameReader,
  frame as frameOf,
  openStream,
  openWhole,
  readQuestion,
  readTextChat,
  type StandInKind,
  standInEnclave,
  standInKinds,
} from '@sotto/client/testing';
import { readAnnouncement, readSealedBody } from '@sotto/confidential/testing';
import { openSealedMeter } from '@sotto/providers';
import { FrameMeter, relayRules, ServiceError, SseEventTooLargeError, SseParser, sealedAnswerBytes } from '@sotto/wire';
import { bytesOf, type FuzzTarget, jsonBytes, jsonOf, promise } from '../engine/target.ts';

const { near, tinfoil, chutes } = relayRules;
const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const sealedText = 'ab'.repeat(90);
const stream =
  event({ id: 'c', choices: [{ index: 0, delta: { role: 'assistant', content: sealedText } }] }) +
  event({
    choices: [{ index: 0, delta: { reasoning_content: sealedText }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1 },
  }) +
  'data: [DONE]\n\n';

const known = (error: unknown): void => {
  if (!(error instanceof ServiceError || error instanceof ClientError)) throw error;
};
/** Reads an input, which may be refused. */
const attempt = (read: () => unknown): void => {
  try {
    read();
  } catch (error) {
    known(error);
  }
};

/** All readers of sealed requests and answers: those that relay them unopened, and those that open them. */
export async function sealedTargets(): Promise<FuzzTarget[]> {
  return [
    {
      name: 'sse',
      grammar: 'events',
      share: 8,
      words: ['data', 'data:', 'event:', 'id:', 'retry:', ':', '\r', '\r\n', '\ufeff'],
      seeds: [bytesOf(stream), bytesOf('\ufeffevent: x\r\ndata:a\rdata: b\n\n: c\n\ndata')],
      read: sameEventsInEverySplit,
    },
    {
      name: 'sealed-announcement',
      grammar: 'json',
      share: 3,
      words: ['family', 'near', 'chutes', 'provider', 'only', 'stream', 'reasoning'],
      seeds: [
        jsonBytes({ family: 'near', model: 'a/b', provider: 'acme', stream: true }),
        jsonBytes({
          family: 'chutes',
          model: 'a/b',
          provider: { only: ['acme'] },
          stream: false,
          reasoning_effort: 'none',
        }),
      ],
      read: (input) =>
        attempt(() => readAnnouncement({ 'x-router-e2ee': input.toString('latin1'), 'x-e2e-stream': 'true' })),
    },
    {
      name: 'sealed-body',
      grammar: 'json',
      share: 3,
      words: ['messages', 'content', 'max_tokens', sealedText, 'stream', 'role'],
      seeds: [
        jsonBytes({ model: 'm', messages: [{ role: 'user', content: sealedText }], max_tokens: 5, stream: true }),
        frameOf(Buffer.alloc(60, 3)),
      ],
      read: (input) => {
        for (const rule of [near, tinfoil, chutes]) {
          for (const variant of rule.variants) {
            attempt(() => {
              const { plaintextBytes } = readSealedBody(input, {
                stream: true,
                reasoning: { effort: undefined, enabled: undefined } as never,
                rule,
                variant,
              });
              promise(
                Number.isSafeInteger(plaintextBytes) && plaintextBytes >= 0 && plaintextBytes <= input.length,
                `${plaintextBytes} bytes of text in ${input.length}`,
              );
            });
          }
        }
      },
    },
    {
      name: 'sealed-meter',
      grammar: 'events',
      share: 5,
      words: ['choices', 'delta', 'content', 'finish_reason', 'error', sealedText, '[DONE]'],
      seeds: [
        bytesOf(stream),
        jsonBytes({ choices: [{ message: { content: sealedText }, finish_reason: 'stop' }] }),
        frameOf(Buffer.alloc(60, 3)),
      ],
      read: (input) => {
        for (const rule of [near, tinfoil, chutes]) {
          for (const isStream of [true, false]) {
            const [whole, split] = [0, 1].map((cuts) => meterOf(input, { rule, isStream, cuts }));
            promise(
              JSON.stringify(whole) === JSON.stringify(split),
              `whole ${JSON.stringify(whole)}, in two ${JSON.stringify(split)}`,
            );
          }
        }
        const value = jsonOf(input);
        if (value !== undefined) sealedAnswerBytes(value, 72);
      },
    },
    {
      name: 'frames',
      grammar: 'bytes',
      share: 4,
      seeds: [Buffer.concat([frameOf(Buffer.alloc(60, 3)), frameOf(Buffer.alloc(0)), frameOf(Buffer.alloc(17, 1))])],
      read: (input) => {
        const meter = new FrameMeter();
        for (const byte of input) meter.push(Buffer.from([byte]));
        const atOnce = new FrameMeter();
        atOnce.push(input);
        promise(
          meter.plaintextBytes === atOnce.plaintextBytes && meter.isBetweenFrames === atOnce.isBetweenFrames,
          'a length that depends on the split',
        );
        attempt(() => {
          const reader = new FrameReader();
          reader.push(input);
          reader.end();
        });
      },
    },
    {
      name: 'client-request',
      grammar: 'json',
      share: 3,
      words: ['messages', 'content', 'role', 'tools', 'reasoning', 'input', 'voice', 'size', 'provider', 'models'],
      seeds: [
        jsonBytes({
          model: 'm',
          messages: [
            { role: 'user', content: [{ type: 'text', text: 'x' }] },
            { role: 'assistant', content: 'y', reasoning: 'z' },
          ],
          stream: true,
          stream_options: { include_usage: true },
          temperature: 1,
        }),
        jsonBytes({ model: 'm', input: 'x', voice: 'v' }),
      ],
      read: (input) => {
        const body = jsonOf(input);
        for (const read of [
          () => readTextChat(body),
          () => readQuestion('chat', body),
          () => readQuestion('speech', body),
          () => readQuestion('image', body),
        ]) {
          attempt(read);
        }
      },
    },
    {
      name: 'enclave-key',
      grammar: 'text',
      share: 2,
      seeds: [bytesOf('04'.padEnd(130, 'a')), bytesOf('ab'.repeat(32)), bytesOf(Buffer.alloc(1184).toString('base64'))],
      read: (input) => {
        for (const algorithm of ['ed25519', 'x25519', 'secp256k1', 'ml-kem-768'] as const) {
          attempt(() => readPublicKey(algorithm, input.toString('latin1')));
        }
      },
    },
    ...(await Promise.all(standInKinds.map(replyTarget))),
  ];
}

/** Broken sealed replies of one scheme. The result must be a `ClientError` or the enclave's text. */
async function replyTarget(kind: StandInKind): Promise<FuzzTarget> {
  const enclave = standInEnclave(kind, { speak: () => ({ reasoning: ['Hm.'], content: ['Hel', 'lo.'] }) });
  const ask = (isStream: boolean) =>
    exchange(enclave, { model: 'm', messages: [{ role: 'user', content: 'Hello?' }], stream: isStream });
  const recordings = await Promise.all([true, false].map(ask));
  return {
    name: `reply-${kind}`,
    grammar: kind === 'tinfoil' ? 'bytes' : 'events',
    share: 0.05,
    words: ['choices', 'delta', 'content', 'e2e', 'e2e_init', 'e2e_error', 'usage', 'finish_reason', '[DONE]', 'error'],
    seeds: recordings.map(({ answer }) => Buffer.concat(answer.pieces)),
    async read(input) {
      const isStream = !input.toString('latin1', 0, 40).startsWith('{');
      const { sealed, answer } = await ask(isStream);
      if (isStream) {
        const shown = await openStream({ sealed, answer }, [input]);
        if (shown.failure !== undefined) known(shown.failure);
        else promise('Hello.'.startsWith(shown.content), `an enclave that never said ${shown.content}`);
        return;
      }
      await openWhole({ sealed, answer: { ...answer, pieces: [input] } }).catch(known);
    },
  };
}

function meterOf(
  input: Buffer,
  {
    rule,
    isStream,
    cuts,
  }: { readonly rule: Parameters<typeof openSealedMeter>[0]; readonly isStream: boolean; readonly cuts: number },
) {
  const [variant] = rule.variants;
  if (variant === undefined) throw new Error('a rule without variants');
  const meter = openSealedMeter(rule, variant, isStream);
  meter.begin?.(isStream ? 'text/event-stream' : 'application/json');
  const at = cuts === 0 ? input.length : input.length >> 1;
  const taken = meter.push(input.subarray(0, at)) && (at === input.length || meter.push(input.subarray(at)));
  if (!taken) return 'refused';
  const { producedBytes, isTerminated } = meter;
  promise(Number.isSafeInteger(producedBytes) && producedBytes >= 0, `${producedBytes} bytes produced`);
  return { isWhole: meter.end(), producedBytes, isTerminated };
}

function eventsOf(pieces: readonly string[]): string[] | 'too large' {
  const events: string[] = [];
  const parser = new SseParser({
    onEvent: (data, name) => events.push(`${name}|${data}`),
    onUnknownLine: (line) => events.push(`unknown ${line}`),
    maxEventChars: 8192,
  });
  try {
    for (const piece of pieces) parser.push(piece);
    parser.end();
  } catch (error) {
    if (error instanceof SseEventTooLargeError) return 'too large';
    throw error;
  }
  return events;
}

function sameEventsInEverySplit(input: Buffer): void {
  const text = input.toString('latin1');
  const whole = eventsOf([text]);
  const bytes = eventsOf(text.length < 600 ? [...text] : (text.match(/[\s\S]{1,17}/g) ?? []));
  if (whole === 'too large' || bytes === 'too large') return;
  promise(
    JSON.stringify(whole) === JSON.stringify(bytes),
    `whole ${JSON.stringify(whole)}, by bytes ${JSON.stringify(bytes)}`,
  );
}
