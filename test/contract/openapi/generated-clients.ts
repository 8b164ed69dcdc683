import { execFile } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { createClient } from '@hey-api/openapi-ts';
import { build } from 'esbuild';
import openapiTypes, { astToString } from 'openapi-typescript';
import { beforeAll, describe, expect, it } from 'vitest';
import { useFolder } from '../../kit/folder.ts';
import type { DescribedService } from './described-service.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** What a program with a generated client does: it signs in, makes a key, chats, and reads an error. */
type Program = (asked: {
  readonly control: string;
  readonly broker: string;
  readonly email: string;
  readonly password: string;
}) => Promise<{ readonly key: string; readonly text: string; readonly refusal: string }>;

const heyApi = `
  import { createKey, signIn } from './hey-control';
  import { createClient as toControl } from './hey-control/client';
  import { createChatCompletion } from './hey-broker';
  import { createClient as toBroker } from './hey-broker/client';
  import type { Asked, Told } from './walk';

  export default async function walk({ control, broker, email, password }: Asked): Promise<Told> {
    const client = toControl({ baseUrl: control });
    const signedIn = await signIn({ client, body: { email, password } });
    const { data: person, response } = signedIn;
    if (person === undefined || !('user' in person) || response === undefined) throw new Error('not signed in');
    const cookie = response.headers.getSetCookie().map((line) => line.split(';')[0]).join('; ');
    const { data: key } = await createKey({ client, headers: { cookie }, body: { kind: 'inference', name: 'generated' } });
    if (key === undefined) throw new Error('no key');
    const chat = toBroker({ baseUrl: broker, auth: key.key });
    const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello' }] }];
    const { data } = await createChatCompletion({ client: chat, body: { model: 'demo/chat', messages } });
    const { error } = await createChatCompletion({ client: chat, body: { model: 'no/such', messages } });
    return { key: key.key, text: data?.choices[0]?.message.content ?? '', refusal: error?.error.type ?? '' };
  }
`;

const openapiFetch = `
  import createClient from 'openapi-fetch';
  import type { paths as Broker } from './broker';
  import type { paths as Control } from './control';
  import type { Asked, Told } from './walk';

  export default async function walk({ control, broker, email, password }: Asked): Promise<Told> {
    const client = createClient<Control>({ baseUrl: control });
    const signedIn = await client.POST('/v1/auth/sign-in/email', { body: { email, password } });
    const { data: person, response } = signedIn;
    if (person === undefined || !('user' in person) || response === undefined) throw new Error('not signed in');
    const cookie = response.headers.getSetCookie().map((line) => line.split(';')[0]).join('; ');
    const { data: key } = await client.POST('/v1/keys', { headers: { cookie }, body: { kind: 'inference', name: 'generated' } });
    if (key === undefined) throw new Error('no key');
    const chat = createClient<Broker>({ baseUrl: broker, headers: { authorization: \`Bearer \${key.key}\` } });
    const ask = (model: string) =>
      chat.POST('/v1/chat/completions', { body: { model, messages: [{ role: 'user', content: 'Hello' }] } });
    const { data } = await ask('demo/chat');
    const { error } = await ask('no/such');
    // A string would be a stream.
    const text = typeof data === 'object' ? data.choices[0]?.message.content : undefined;
    return { key: key.key, text: text ?? '', refusal: error?.error.type ?? '' };
  }
`;

const walk = `
  export interface Asked { control: string; broker: string; email: string; password: string }
  export interface Told { key: string; text: string; refusal: string }
`;

/** Clients that people generate from the descriptions: their programs compile, and do what a person does. */
export function describeGeneratedClients(stage: DescribedService): void {
  describe('a generated client', () => {
    const folder = useFolder('generated');

    beforeAll(async () => {
      await symlink(join(root, 'test/node_modules'), join(folder, 'node_modules'));
      for (const [name, { document }] of Object.entries({ control: stage.control, broker: stage.broker })) {
        const text = JSON.stringify(document);
        await writeFile(join(folder, `${name}.json`), text);
        await writeFile(join(folder, `${name}.ts`), astToString(await openapiTypes(text)));
        await createClient({
          input: join(folder, `${name}.json`),
          output: join(folder, `hey-${name}`),
          plugins: ['@hey-api/client-fetch'],
          logs: { level: 'silent' },
        });
      }
      await writeFile(join(folder, 'walk.ts'), walk);
    }, 120_000);

    it.each([
      ['@hey-api/openapi-ts', heyApi],
      ['openapi-typescript', openapiFetch],
    ])(
      'of %s signs in, makes a key and chats',
      async (name, program) => {
        const file = join(folder, `${name.replace(/\W/g, '')}.ts`);
        await writeFile(file, program);
        expect(await compilerErrors(file, folder)).toBe('');
        const outfile = file.replace(/ts$/, 'mjs');
        await build({
          entryPoints: [file],
          outfile,
          bundle: true,
          format: 'esm',
          platform: 'node',
          logLevel: 'silent',
        });
        const { default: run } = (await import(pathToFileURL(outfile).href)) as { readonly default: Program };
        const { email, password, control_url, base_url } = stage.quickstart();
        const told = await run({
          control: new URL(control_url).origin,
          broker: new URL(base_url).origin,
          email,
          password,
        });
        expect(told.key).toMatch(/^sotto_inf_/);
        expect(told.text).not.toBe('');
        expect(told.refusal).toBe('model_not_found');
      },
      120_000,
    );
  });
}

async function compilerErrors(file: string, cwd: string): Promise<string> {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const settings = '--noEmit --strict --skipLibCheck --module esnext --moduleResolution bundler --target es2024'.split(
    ' ',
  );
  const { stdout } = await promisify(execFile)(process.execPath, [tsc, ...settings, file], { cwd }).catch(
    (failure: { stdout: string }) => failure,
  );
  return stdout;
}
