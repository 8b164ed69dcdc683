import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { defaultFamilies } from '@sotto/wire';
import { ClientError } from '../errors.ts';
import { type ClientPins, readPins, shippedPins } from '../pins/client-pins.ts';
import { codeOf, type Terminal, UsageError } from './terminal.ts';

/** Options of every command that reaches the service privately, as `parseArgs` takes them. */
export const serviceOptions = {
  'base-url': { type: 'string' },
  'control-url': { type: 'string' },
  'key-file': { type: 'string' },
  pins: { type: 'string' },
  require: { type: 'string' },
  relay: { type: 'string' },
  'self-signed': { type: 'boolean' },
  'allow-simulated': { type: 'boolean' },
  e2ee: { type: 'boolean' },
  'accept-relay-attacks': { type: 'boolean' },
} as const;

export const serviceHelp = `  --base-url URL       the confidential origin, which receives your content (default: the variable BASE_URL)
  --control-url URL    the control origin, which receives your key (default: the variable CONTROL_URL)
  --key-file FILE      a file with the inference key, of mode 600 (default: the variable INFERENCE_KEY)
  --relay URL          a proxy that somebody else runs, so that the service does not see this machine's address:
                       socks5://host:port (Tor: socks5://127.0.0.1:9050) or http://host:port
  --pins FILE          the machines to accept (default: those that this build ships with)
  --require VERDICT    the weakest verdict on which content is sent (default: hardware_verified)
  --self-signed        accept a certificate of any issuer, if the attestation names its TLS key
  --e2ee               encrypt every request for the provider's enclave, or refuse it
  --accept-relay-attacks  with --e2ee, also use providers whose protocol lets a malicious broker read prompts and replies
                       (all families but ${defaultFamilies().join(' and ')}; default: refuse them)
  --allow-simulated    for development: accept simulated evidence from a service on this machine`;

/** Reads the inference key. It is never an argument: every process list shows arguments. */
export function readKey(terminal: Terminal, keyFile: string | undefined): string {
  const { environment, userId } = terminal;
  const key = (keyFile === undefined ? environment.INFERENCE_KEY : readKeyFile(keyFile, userId))?.trim();
  if (key === undefined || key === '') {
    throw new UsageError(
      'The inference key is missing. Set INFERENCE_KEY, or pass a file that contains the key with --key-file.',
    );
  }
  if (!/^[\x21-\x7e]{1,512}$/.test(key))
    throw new UsageError('The inference key is malformed. It must be one line of printable ASCII.');
  return key;
}

export function readPinsFile(file: string | undefined): ClientPins {
  if (file === undefined) return shippedPins;
  const pins = readPins(readText('--pins', file));
  if (typeof pins === 'string') throw new UsageError(`--pins ${file}: ${pins}.`);
  return pins;
}

/** Returns the value of an option that accepts a few words. */
export function readWord<Word extends string>(option: string, text: string | undefined, words: readonly Word[]): Word {
  const word = words.find((each) => each === text);
  if (word === undefined) throw new UsageError(`${option} must be one of ${words.join(', ')}; got "${text}".`);
  return word;
}

/** @param fix - What to do if the value is missing, as a sentence. */
export function required(option: string, value: string | undefined, fix: string): string {
  if (value === undefined || value === '') throw new UsageError(`${option} is missing. ${fix}`);
  return value;
}

/** Returns the address in an option, or in the variable that is its default. */
export function requiredAddress(
  { environment }: Terminal,
  option: '--base-url' | '--control-url',
  value: string | undefined,
): string {
  const variable = option === '--base-url' ? 'BASE_URL' : 'CONTROL_URL';
  return required(
    option,
    value ?? environment[variable],
    `Pass it, or set ${variable}: with \`npm start\`, run \`source .sotto/env\`.`,
  );
}

/** Returns the one positional argument. A second one is an error: the user would believe that it was checked, too. */
export function onlyOne(name: string, positionals: readonly string[]): string {
  const [first, second] = positionals;
  if (second !== undefined) throw new UsageError(`Pass one ${name}; "${second}" is a second one.`);
  return required(name, first, `Pass one ${name}.`);
}

/** Turns the client's objection to an option into a `UsageError`. */
export function asUsage<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ClientError && (error.code === 'origin_invalid' || error.code === 'option_invalid')) {
      throw new UsageError(error.message);
    }
    throw error;
  }
}

export const readText = (option: string, file: string): string => readBytes(option, file).toString('utf8');

/** Bytes of a file that is held in memory, at most. */
const maxFileBytes = 256 * 1024 * 1024;

/** Reads a file into memory. Throws a `UsageError` if it cannot be read, or is too large. */
export function readBytes(option: string, file: string): Buffer {
  const pieces: Buffer[] = [];
  let length = 0;
  for (const piece of piecesOf(option, file)) {
    length += piece.length;
    if (length > maxFileBytes) throw new UsageError(`${option} ${file}: it has more than 256 MiB.`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Yields a file of any size in pieces. Throws a `UsageError` if it cannot be read. */
export function* piecesOf(option: string, file: string): Generator<Buffer> {
  try {
    const descriptor = openSync(file, 'r');
    try {
      for (;;) {
        const piece = Buffer.allocUnsafe(1024 * 1024);
        const length = readSync(descriptor, piece);
        if (length === 0) return;
        yield piece.subarray(0, length);
      }
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throw new UsageError(`${option} ${file}: ${whyUnreadable(error)}.`);
  }
}

const unreadable: ReadonlyMap<unknown, string> = new Map([
  ['ENOENT', 'there is no such file'],
  ['EACCES', 'you may not read it'],
  ['EISDIR', 'it is a folder'],
]);

/** Says why a file cannot be read. */
function whyUnreadable(error: unknown): string {
  const code = codeOf(error);
  return unreadable.get(code) ?? `it cannot be read${code === undefined ? '' : ` (${code})`}`;
}

/**
 * Reads a file that holds a key. As ssh does, it refuses a file of the user's own that others on the machine can read
 * or change. The user cannot change the mode of other owners' files, such as mounted secrets, so they are accepted.
 * Windows does not have such modes; `userId` is undefined there.
 */
export function readKeyFile(file: string, userId: number | undefined, option = '--key-file'): string {
  try {
    // Check and read through one descriptor: the path may name another file in between.
    const descriptor = openSync(file, 'r');
    try {
      const stat = fstatSync(descriptor);
      if (stat.isFile() && stat.uid === userId && (stat.mode & 0o077) !== 0)
        throw openToOthers(option, file, stat.mode);
      return readFileSync(descriptor, 'utf8');
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${option} ${file}: ${whyUnreadable(error)}.`);
  }
}

const openToOthers = (option: string, file: string, mode: number): UsageError =>
  new UsageError(
    `${option} ${file}: its mode is ${(mode & 0o777).toString(8).padStart(4, '0')}, so other users of this machine can read or change it. Run \`chmod 600 ${quoted(file)}\`.`,
  );

/** Quotes a path for a shell. */
const quoted = (path: string): string => (/^[\w./~+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);
