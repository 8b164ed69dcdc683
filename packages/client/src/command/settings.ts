import { readFileSync } from 'node:fs';
import { ClientError } from '../errors.ts';
import { type ClientPins, shippedPins } from '../pins/client-pins.ts';
import { readPins } from '../pins/read-pins.ts';
import { readKeyFile } from './key-file.ts';
import { type Terminal, UsageError } from './terminal.ts';

/** Options of every command that reaches the service privately, as `parseArgs` takes them. */
export const serviceOptions = {
  'base-url': { type: 'string' },
  'control-url': { type: 'string' },
  'key-file': { type: 'string' },
  pins: { type: 'string' },
  require: { type: 'string' },
  'self-signed': { type: 'boolean' },
  'allow-simulated': { type: 'boolean' },
  e2ee: { type: 'boolean' },
} as const;

export const serviceHelp = `  --base-url URL       the confidential origin: where content goes
  --control-url URL    the control origin: where the key goes
  --key-file FILE      a file with the inference key, of mode 600; else it is taken from SOTTO_API_KEY
  --pins FILE          measurements to accept, instead of those that this build ships with
  --require VERDICT    the weakest verdict that content is sent on (default: hardware_verified)
  --self-signed        let the broker's TLS key rest on its attestation alone, whoever signed its certificate
  --e2ee               encrypt everything for the provider's enclave, and refuse what cannot be
  --allow-simulated    for development: accept simulated evidence of a service on this machine`;

/** The inference key. Never an argument: those are in every process list. */
export function readKey(terminal: Terminal, keyFile: string | undefined): string {
  const { environment, userId } = terminal;
  const key = (keyFile === undefined ? environment.SOTTO_API_KEY : readKeyFile(keyFile, userId))?.trim();
  if (key === undefined || key === '') {
    throw new UsageError('No inference key: set SOTTO_API_KEY, or name a file that holds it with --key-file.');
  }
  if (!/^[\x21-\x7e]{1,512}$/.test(key))
    throw new UsageError('The inference key is malformed: it is one line of printable ASCII.');
  return key;
}

export function readPinsFile(file: string | undefined): ClientPins {
  if (file === undefined) return shippedPins;
  const pins = readPins(readText('--pins', file));
  if (typeof pins === 'string') throw new UsageError(`--pins ${file}: ${pins}.`);
  return pins;
}

/** The value of an option that takes one of a few words. */
export function readWord<Word extends string>(option: string, text: string | undefined, words: readonly Word[]): Word {
  const word = words.find((each) => each === text);
  if (word === undefined) throw new UsageError(`${option} must be one of ${words.join(', ')}; got "${text}".`);
  return word;
}

export function required(option: string, value: string | undefined): string {
  if (value === undefined || value === '') throw new UsageError(`${option} is missing.`);
  return value;
}

/** The one thing that a command is about. What is said beside it would pass for looked at. */
export function onlyOne(name: string, positionals: readonly string[]): string {
  const [first, second] = positionals;
  if (second !== undefined) throw new UsageError(`Give one ${name}; "${second}" is another.`);
  return required(name, first);
}

/** Tells as a wrong call what the client objects to in its options. */
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

export function readText(option: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'it cannot be read';
    throw new UsageError(`${option} ${file}: ${code}.`);
  }
}
