import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { type EmbeddedConfig, type SecretName, secretNames } from './config.ts';
import { keep, readKept } from './kept-file.ts';

export type Secrets = Readonly<Record<SecretName, string>>;

const keptSchema = z.partialRecord(z.enum(secretNames), z.string());

/** The service's secrets: those of the environment, else the ones kept in the data directory, else new ones. */
export async function loadSecrets({ dataDir, givenSecrets }: EmbeddedConfig): Promise<Secrets> {
  const file = join(dataDir, 'secrets.json');
  const kept = keptSchema.parse((await readKept(file)) ?? {});
  const all = Object.fromEntries(secretNames.map((name) => [name, kept[name] ?? randomBytes(32).toString('base64')]));
  if (secretNames.some((name) => kept[name] === undefined)) await keep(file, all);
  return z.record(z.enum(secretNames), z.string()).parse({
    ...all,
    ...Object.fromEntries(Object.entries(givenSecrets).filter(([, value]) => value !== undefined)),
  });
}
