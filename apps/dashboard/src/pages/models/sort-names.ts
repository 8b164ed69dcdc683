import type { ModelSort } from './model-search.ts';

export const sortNames: Readonly<Record<ModelSort, string>> = {
  name: 'Name',
  input: 'Input price',
  output: 'Output price',
  context: 'Context',
};
