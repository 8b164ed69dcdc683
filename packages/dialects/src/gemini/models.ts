import type { OfferedModel } from '../offered-model.ts';

/** Writes a model of the catalog as Google's API does. */
export const geminiModel = ({ id, name, contextLength, maxOutputTokens }: OfferedModel): object => ({
  name: `models/${id}`,
  version: 'catalog',
  displayName: name,
  ...(contextLength === undefined ? {} : { inputTokenLimit: contextLength }),
  ...(maxOutputTokens === undefined ? {} : { outputTokenLimit: maxOutputTokens }),
  supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
});

/** Writes the catalog as Google's list of models. */
export const geminiModels = (models: readonly OfferedModel[]): object => ({ models: models.map(geminiModel) });
