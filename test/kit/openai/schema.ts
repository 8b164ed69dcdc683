import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createGenerator } from 'ts-json-schema-generator';
import type { TestProject } from 'vitest/node';
import type { OpenAiAnswers } from './answers.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** JSON schemas by the kind of answer. */
    openAiAnswers: Record<keyof OpenAiAnswers, object>;
  }
}

const types = fileURLToPath(new URL('answers.ts', import.meta.url));
const tsconfig = fileURLToPath(new URL('../../tsconfig.json', import.meta.url));

/** Vitest `globalSetup`: generates JSON schemas from the types of the `openai` package, for `watch-answers.ts`. */
export function setup(project: TestProject): void {
  project.provide('openAiAnswers', schemas());
}

/** Reading the types takes seconds, so a file keeps the schemas until the types change. */
function schemas(): Record<keyof OpenAiAnswers, object> {
  const manifest = join(dirname(createRequire(import.meta.url).resolve('openai')), 'package.json');
  const key = createHash('sha256').update(readFileSync(manifest)).update(readFileSync(types)).digest('hex');
  const folder = fileURLToPath(new URL('../../node_modules/.cache/sotto', import.meta.url));
  const file = join(folder, `openai-answers-${key.slice(0, 16)}.json`);
  if (!existsSync(file)) {
    mkdirSync(folder, { recursive: true });
    // Another run may read the file now, so it must appear whole.
    writeFileSync(`${file}.${process.pid}`, JSON.stringify(makeSchemas()));
    renameSync(`${file}.${process.pid}`, file);
  }
  return JSON.parse(readFileSync(file, 'utf8')) as Record<keyof OpenAiAnswers, object>;
}

function makeSchemas(): unknown {
  const { properties } = createGenerator({
    path: types,
    tsconfig,
    skipTypeCheck: true,
    // Clients ignore fields that they do not know.
    additionalProperties: true,
    topRef: false,
    expose: 'none',
    jsDoc: 'none',
  }).createSchema('OpenAiAnswers');
  return properties;
}
