import { connect } from 'node:net';

/** One command that a Redis was sent. */
export interface MonitoredCommand {
  /** The sender's address; `lua` for what a script calls. */
  readonly source: string;
  /** The command and its arguments, byte for byte as `latin1`. */
  readonly words: readonly string[];
}

export interface RedisMonitor {
  close(): void;
}

/**
 * Tells every command that a Redis is sent from now on to the database of this URL. By hand, because a client library loses its place where the first
 * commands are told in one piece with the answer to MONITOR.
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
  // Ended by the server's end, too.
  socket.on('error', () => {});
  return { close: () => socket.destroy() };
}

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', a: '\x07', b: '\b' };

/** The words of a line as MONITOR quotes them. */
const unquoted = (line: string): string[] =>
  [...line.matchAll(/"((?:[^"\\]|\\.)*)"/gs)].map(([, word = '']) =>
    word.replace(/\\(?:x([0-9a-f]{2})|(.))/gs, (_, hex: string | undefined, character: string) =>
      hex === undefined ? (escapes[character] ?? character) : String.fromCharCode(Number.parseInt(hex, 16)),
    ),
  );
