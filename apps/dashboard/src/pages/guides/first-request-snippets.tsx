import type { ModelAnswer } from '@sotto/wire';
import { modelSnippets } from '../../snippets/model-snippets.ts';
import { SnippetTabs } from '../../snippets/snippet-tabs.tsx';
import { useDeployment } from './use-deployment.ts';

/** First requests to copy, to a model or to the preferred one, with the addresses of this deployment and the reader's key. */
export function FirstRequestSnippets({ model }: { model?: ModelAnswer }) {
  const { models, ...facts } = useDeployment();
  const id = model?.id ?? models['demo/chat'] ?? '/auto';
  return <SnippetTabs snippets={modelSnippets(model?.model_type ?? 'text', { ...facts, model: id })} />;
}
