import { anthropicDialect } from './anthropic.ts';
import { bedrockDialect } from './bedrock.ts';
import type { Dialect } from './dialect.ts';
import { googleDialect } from './google.ts';
import { azureDialect, openAiDialect } from './openai.ts';

/** Every vendor for which there is a chat adapter. */
export const dialects: readonly Dialect[] = [
  openAiDialect,
  azureDialect,
  anthropicDialect,
  googleDialect,
  bedrockDialect,
];
