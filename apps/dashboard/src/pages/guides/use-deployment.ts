import { type ModelAnswer, preferredModel } from '@sotto/wire';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { confidentialOrigin, controlOrigin } from '../../api/origins.ts';
import { modelsQuery } from '../../api/queries.ts';
import { isForPrograms, useTabKey } from '../../inference-key/tab-key.ts';
import { isOffered } from '../../models/model-options.ts';
import { useSignedIn } from '../../session/session.ts';
import { keyPlaceholder } from '../../snippets/snippets.ts';
import { useWorkspace } from '../../workspaces/workspaces.tsx';
import type { Deployment } from './for-deployment.ts';

/** The models of the documentation, by the kind of model that stands for them here. */
const shownModels: Readonly<Record<string, ModelAnswer['model_type']>> = {
  'demo/chat': 'text',
  'demo/image': 'image',
  'demo/speech': 'tts',
  'demo/embedding': 'embedding',
};

/** This deployment as its guides show it, with the key that the tab keeps. */
export function useDeployment(): Deployment {
  const { data: models = [] } = useQuery(modelsQuery);
  const { workspace } = useWorkspace();
  const [tabKey] = useTabKey(workspace?.id ?? '');
  const email = useSignedIn()?.email ?? 'you@example.com';
  const key = tabKey !== undefined && isForPrograms(tabKey) ? tabKey.key : keyPlaceholder;
  return useMemo(
    () => ({ controlOrigin, confidentialOrigin, key, email, models: standInsFor(models) }),
    [models, key, email],
  );
}

function standInsFor(models: readonly ModelAnswer[]): Deployment['models'] {
  const pairs = Object.entries(shownModels).flatMap(([shown, type]) => {
    const offered = models.filter((model) => model.model_type === type && isOffered(model));
    const own = type === 'text' ? preferredModel(offered) : offered[0];
    return own === undefined ? [] : [[shown, own.id] as const];
  });
  return Object.fromEntries(pairs);
}
