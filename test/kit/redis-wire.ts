import { connect, createServer, type Socket } from 'node:net';
import { listenOnLoopback } from '@sotto/test-servers';

/** A command of a client and the reply of Redis, byte for byte as `latin1`. */
export interface RedisExchange {
  readonly words: readonly string[];
  readonly reply: string;
}

/** A TCP proxy in front of a Redis that pairs each reply with its command. Reads RESP2 and RESP3. */
export interface RedisWire {
  /** The Redis URL through this proxy. */
  readonly url: string;
  /** Every exchange so far, including those whose reply was lost. */
  readonly exchanges: readonly RedisExchange[];
  /** Messages that Redis sent without a command. Those are pushes, which only subscribers and trackers get. */
  readonly unasked: readonly string[];
  /** Cuts the connection instead of passing on the next reply to a command with this word. */
  loseReplyTo(word: string): void;
  close(): void;
}

/** @param target - A `redis://` URL with a port. */
export async function startRedisWire(target: string): Promise<RedisWire> {
  const { hostname, port } = new URL(target);
  const exchanges: RedisExchange[] = [];
  const unasked: string[] = [];
  const sockets = new Set<Socket>();
  let loses: string | undefined;

  const server = createServer((client) => {
    const redis = connect(Number(port), hostname);
    const cut = (): void => {
      client.destroy();
      redis.destroy();
    };
    for (const socket of [client, redis]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', cut);
      socket.on('close', () => {
        sockets.delete(socket);
        cut();
      });
    }
    const waiting: string[][] = [];
    const takeCommands = inItems((item) => waiting.push(wordsOf(item)));
    const takeReplies = inItems((item) => {
      const reply = item.toString('latin1');
      const words = isPush(reply) ? undefined : waiting.shift();
      if (words === undefined) unasked.push(reply);
      else exchanges.push({ words, reply });
      if (loses !== undefined && words?.includes(loses)) {
        loses = undefined;
        cut();
      }
      if (!client.destroyed) client.write(item);
    });
    client.on('data', (piece: Buffer) => {
      takeCommands(piece);
      redis.write(piece);
    });
    redis.on('data', takeReplies);
  });
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String(await listenOnLoopback(server));
  return {
    url: url.href.replace(/\/$/, ''),
    exchanges,
    unasked,
    loseReplyTo(word) {
      loses = word;
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** The reply to SUBSCRIBE has the form of a push, too. */
const isPush = (reply: string): boolean => reply.startsWith('>') && !reply.startsWith('>3\r\n$9\r\nsubscribe\r\n');

/** Assembles pieces into complete items of the protocol. */
function inItems(take: (item: Buffer) => void): (piece: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (piece) => {
    rest = Buffer.concat([rest, piece]);
    for (let end = endOfItem(rest, 0); end !== undefined; end = endOfItem(rest, 0)) {
      const item = rest.subarray(0, end);
      rest = rest.subarray(end);
      take(item);
    }
  };
}

/** Types that begin with a count of bytes, or of items. The number says how many items each count stands for. */
const bulks = new Set(['$', '=', '!']);
const lists: ReadonlyMap<string, number> = new Map([
  ['*', 1],
  ['~', 1],
  ['>', 1],
  ['%', 2],
]);

/** Returns the end of the item that begins at `from`; undefined if it is incomplete. */
function endOfItem(bytes: Buffer, from: number): number | undefined {
  const lineEnd = bytes.indexOf('\r\n', from);
  if (lineEnd === -1) return undefined;
  const type = bytes.toString('latin1', from, from + 1);
  const count = Number(bytes.toString('latin1', from + 1, lineEnd));
  let end: number | undefined = lineEnd + 2;
  if (bulks.has(type) && count >= 0) end += count + 2;
  const items = count * (lists.get(type) ?? 0);
  for (let at = 0; at < items && end !== undefined; at += 1) end = endOfItem(bytes, end);
  return end !== undefined && end <= bytes.length ? end : undefined;
}

/** Returns the words of a command, which is a list of bulk strings. */
function wordsOf(command: Buffer): string[] {
  const words: string[] = [];
  for (let at = command.indexOf('\r\n') + 2; at < command.length; ) {
    const lineEnd = command.indexOf('\r\n', at);
    const length = Number(command.toString('latin1', at + 1, lineEnd));
    words.push(command.toString('latin1', lineEnd + 2, lineEnd + 2 + length));
    at = lineEnd + 2 + length + 2;
  }
  return words;
}

/** One command that a Redis received. */
export interface MonitoredCommand {
  /** The sender's address, or `lua` for a call from a script. */
  readonly source: string;
  /** The command and its arguments, byte for byte as `latin1`. */
  readonly words: readonly string[];
}

export interface RedisMonitor {
  close(): void;
}

/**
 * Reports every command to the database of this URL from now on. It does not use a client library: those lose their
 * place if the first commands arrive in one piece with the answer to MONITOR.
 */
export async function monitorRedis(url: string, onCommand: (command: MonitoredCommand) => void): Promise<RedisMonitor> {
  const { hostname, port, pathname } = new URL(url);
  const wanted = pathname.slice(1) || '0';
  const socket = connect(Number(port), hostname);
  let rest = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    const lines = (rest + text).split('\r\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const [, database, source, words] = /^\+[\d.]+ \[(\d+) (\S+)\] (.*)$/s.exec(line) ?? [];
      if (database === wanted && source !== undefined && words !== undefined)
        onCommand({ source, words: unquoted(words) });
    }
  });
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.write('MONITOR\r\n');
  await new Promise((resolve) => socket.once('data', resolve));
  // The server's end also ends this socket.
  socket.on('error', () => {});
  return { close: () => socket.destroy() };
}

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', a: '\x07', b: '\b' };

/** Splits a line into words, as MONITOR quotes them. */
const unquoted = (line: string): string[] =>
  [...line.matchAll(/"((?:[^"\\]|\\.)*)"/gs)].map(([, word = '']) =>
    word.replace(/\\(?:x([0-9a-f]{2})|(.))/gs, (_, hex: string | undefined, character: string) =>
      hex === undefined ? (escapes[character] ?? character) : String.fromCharCode(Number.parseInt(hex, 16)),
    ),
  );
