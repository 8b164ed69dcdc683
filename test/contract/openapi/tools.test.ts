import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { buildDocument } from '@sotto/contract';
import { confidentialOrigin } from '@sotto/contract/confidential';
import { controlOrigin } from '@sotto/contract/control';
import openapiTypes, { astToString } from 'openapi-typescript';
import { beforeAll, describe, expect, it } from 'vitest';
import { useFolder } from '../../kit/folder.ts';

const origins = { control: controlOrigin, confidential: confidentialOrigin } as const;
const documentOf = (name: keyof typeof origins): string => JSON.stringify(buildDocument(origins[name]));

describe.each(['control', 'confidential'] as const)('the description of the %s origin', (name) => {
  it('causes no warnings of redocly', async () => {
    const config = await createConfig({
      extends: ['recommended'],
      rules: {
        // Some routes only redirect or reject. The health routes cannot receive a wrong request.
        'operation-2xx-response': 'off',
        'operation-4xx-response': 'off',
      },
    });
    const problems = await lintFromString({ source: documentOf(name), absoluteRef: `${name}.json`, config });
    const told = problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`);
    expect(told.slice(0, 10)).toEqual([]);
  });
});

describe('types that openapi-typescript generates', () => {
  const root = fileURLToPath(new URL('../../../', import.meta.url));
  const folder = useFolder('types');

  beforeAll(async () => {
    for (const name of ['control', 'confidential'] as const) {
      await writeFile(join(folder, `${name}.ts`), astToString(await openapiTypes(documentOf(name))));
    }
  });

  /** Returns the compiler's errors for a program that uses the types; empty if it compiles. */
  async function compiled(program: string): Promise<string> {
    await writeFile(join(folder, 'program.ts'), program);
    const settings = [
      '--noEmit',
      '--strict',
      '--exactOptionalPropertyTypes',
      '--module',
      'nodenext',
      '--target',
      'es2024',
    ];
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const files = ['--types', '', '--allowImportingTsExtensions', 'program.ts'];
    const { stdout } = await promisify(execFile)(process.execPath, [tsc, ...settings, ...files], { cwd: folder }).catch(
      (failure: { stdout: string }) => failure,
    );
    return stdout;
  }

  const imports = `
    import type { components as broker, paths } from './confidential.ts';
    import type { components as control } from './control.ts';
    type ChatRequest = broker['schemas']['ChatRequest'];
  `;

  it('accept the requests that people write, and type the answers', async () => {
    const program = `${imports}
      export const plain: ChatRequest = { model: 'demo/chat', messages: [{ role: 'user', content: 'Hello' }] };
      export const full: ChatRequest & Record<\`\${string}_parameters\`, object> = {
        ...plain,
        temperature: 0.5,
        stream: true,
        tools: [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }],
        tool_choice: 'auto',
        response_format: { type: 'json_object' },
        provider: { only: ['acme'], allow_fallbacks: false },
        acme_parameters: { strip_thinking_response: true },
      };
      export const temperature: number | null | undefined = full.temperature;
      type Answers = paths['/v1/chat/completions']['post']['responses'];
      export const textOf = (answer: Answers[200]['content']['application/json']): string | null | undefined =>
        answer.choices[0]?.message.content;
      export const isUnknownModel = ({ error }: Answers[404]['content']['application/json']): boolean =>
        error.code === 'model_not_found' && error.param === null;
      export const ticket: control['schemas']['TicketRequest'] = { model: plain.model };
    `;
    expect(await compiled(program)).toBe('');
  });

  it('reject a field of the wrong type, and a status that the route never returns', async () => {
    const said = await compiled(`${imports}
      export const wrong: ChatRequest = { model: 'demo/chat', messages: [], temperature: 'hot' };
      export type Never = paths['/v1/chat/completions']['post']['responses'][418];
    `);
    expect(said).toMatch(/Type 'string' is not assignable to type 'number'/);
    expect(said).toMatch(/Property '418' does not exist/);
  });
});
