import { readFileSync } from 'node:fs';

/** A file of `packages/client/vectors`. */
export const vector = <Shape>(name: string): Shape => JSON.parse(vectorText(name)) as Shape;

export const vectorText = (name: string): string =>
  readFileSync(new URL(`../../../vectors/${name}`, import.meta.url), 'utf8');
