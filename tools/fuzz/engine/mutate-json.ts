import type { SeededRandom } from '../../../packages/attestation/src/testing/mutate.ts';
import { nastyValues } from './nasty.ts';

type Container = Record<string, unknown> | unknown[];

/**
 * JSON text with one value in it changed: another type, a strange value, dropped, repeated, renamed, wrapped, or said twice
 * under one name. Text that is no JSON comes back as it is.
 */
export function mutateJson(text: string, words: readonly string[], random: SeededRandom): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  const places: [Container, string][] = [];
  collect(value, places);
  if (places.length === 0) return write(strange(words, random), random);
  const [container, key] = places[random.below(places.length)] ?? [{}, ''];
  if (random.below(12) === 0) return saidTwice(value, key, words, random);
  changeAt(container, key, { places, words, random });
  return write(value, random);
}

function collect(value: unknown, places: [Container, string][]): void {
  if (typeof value !== 'object' || value === null) return;
  const container = value as Container;
  for (const key of Object.keys(container)) {
    places.push([container, key]);
    collect((container as Record<string, unknown>)[key], places);
  }
}

interface ChangeContext {
  readonly places: readonly [Container, string][];
  readonly words: readonly string[];
  readonly random: SeededRandom;
}

function changeAt(container: Container, key: string, { places, words, random }: ChangeContext): void {
  const object = container as Record<string, unknown>;
  const old = object[key];
  switch (random.below(9)) {
    case 0:
      if (Array.isArray(container)) container.splice(Number(key), 1);
      else delete object[key];
      return;
    case 1:
      if (Array.isArray(container)) container.splice(Number(key), 0, structuredClone(old));
      else define(object, nameOf(words, random), structuredClone(old));
      return;
    case 2: {
      const [from, name] = places[random.below(places.length)] ?? [{}, ''];
      object[key] = structuredClone((from as Record<string, unknown>)[name]);
      return;
    }
    case 3:
      object[key] = random.below(2) === 0 ? [old] : { [nameOf(words, random)]: old };
      return;
    case 4:
      if (Array.isArray(container)) container.push(old);
      else {
        delete object[key];
        define(object, nameOf(words, random), old);
      }
      return;
    case 5:
      object[key] =
        typeof old === 'number'
          ? neighbour(old, random)
          : `${(JSON.stringify(old) ?? '').slice(0, 100)}${words[random.below(words.length || 1)] ?? ''}`;
      return;
    case 6:
      object[key] = typeof old === 'string' ? cut(old, random) : (JSON.stringify(old) ?? '');
      return;
    default:
      object[key] = strange(words, random);
  }
}

/** An own property even for `__proto__`. */
function define(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

const neighbour = (old: number, random: SeededRandom): number =>
  [old + 1, old - 1, -old, old * 1000, old / 3, Math.trunc(old)][random.below(6)] ?? old;

const cut = (old: string, random: SeededRandom): string =>
  random.below(2) === 0 ? old.slice(0, random.below(old.length + 1)) : old.repeat(2);

function strange(words: readonly string[], random: SeededRandom): unknown {
  const isWord = words.length > 0 && random.below(2) === 0;
  return isWord ? words[random.below(words.length)] : structuredClone(nastyValues[random.below(nastyValues.length)]);
}

const names = ['__proto__', 'constructor', 'prototype', 'toString', 'length', 'then', '', '0', 'x', '\u0000', 'é'];

const nameOf = (words: readonly string[], random: SeededRandom): string =>
  (random.below(2) === 0 ? words[random.below(words.length || 1)] : undefined) ??
  names[random.below(names.length)] ??
  'x';

/** One name in one object twice, as only text can have it. */
function saidTwice(value: unknown, key: string, words: readonly string[], random: SeededRandom): string {
  const text = JSON.stringify(value);
  const said = `${JSON.stringify(key)}:`;
  const at = text.indexOf(said);
  return at === -1
    ? text
    : `${text.slice(0, at)}${said}${JSON.stringify(strange(words, random)) ?? 'null'},${text.slice(at)}`;
}

/** As different serializers write it. */
function write(value: unknown, random: SeededRandom): string {
  const text = JSON.stringify(value) ?? 'null';
  switch (random.below(8)) {
    case 0:
      return JSON.stringify(value, null, 1) ?? 'null';
    case 1:
      return text.replaceAll('/', '\\/');
    case 2:
      return text.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    default:
      return text;
  }
}
