import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A command of a client and what Redis sent back for it, byte for byte as `latin1`. */
export interface RedisExchange {
  readonly words: readonly string[];
  readonly reply: string;
}

/** A TCP proxy in front of a Redis that pairs each reply with its command. Reads RESP2 and RESP3. */
export interface RedisWire {
  /** The Redis' URL by way of this proxy. */
  readonly url: string;
  /** Everything that came back so far, the replies that were lost included. */
  readonly exchanges: readonly RedisExchange[];
  /** Messages that Redis sent without a command: pushes, which only subscribers and trackers get. */
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
      const words = reply.startsWith('>') ? undefined : waiting.shift();
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
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String(address.port);
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

/** Puts pieces together to whole items of the protocol. */
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

/** Of the types that hold a count of bytes, or of items: how many items each count is. */
const bulks = new Set(['$', '=', '!']);
const lists: ReadonlyMap<string, number> = new Map([
  ['*', 1],
  ['~', 1],
  ['>', 1],
  ['%', 2],
]);

/** Where the item that begins at `from` ends; undefined where it has not come in full. */
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

/** The words of a command, which is a list of bulk strings. */
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
