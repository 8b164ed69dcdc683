import type { ModelAnswer, WorkspaceAnswer } from '@sotto/wire';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { confidentialOrigin, controlOrigin } from '../../api/origins.ts';
import { useChange } from '../../api/use-change.ts';
import { KeyCard } from '../../inference-key/key-card.tsx';
import { useTabKey } from '../../inference-key/tab-key.ts';
import { modelOptions } from '../../models/model-options.ts';
import { tiers } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Combobox } from '../../ui/combobox.tsx';
import { SelectField } from '../../ui/field.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { Card, ErrorState } from '../../ui/surface.tsx';
import { loadClient, shownError } from '../../verification/client.ts';
import { ownPins } from '../../verification/pins.ts';
import { type EnclaveRouteShown, enclaveRoutes } from './enclave-models.ts';
import { EnclaveReport } from './enclave-report.tsx';

interface EnclaveFormProps {
  readonly workspace: WorkspaceAnswer;
  /** Those that some enclave serves; at least one. */
  readonly models: readonly ModelAnswer[];
}

/** Chooses whose enclave is verified, and shows what was found. */
export function EnclaveForm({ workspace, models }: EnclaveFormProps) {
  const search = useSearch({ from: '/verify' });
  const navigate = useNavigate({ from: '/verify' });
  const [tabKey, setTabKey] = useTabKey(workspace.id);
  const pins = ownPins.use();
  const model = models.find(({ id }) => id === search.model) ?? models[0];
  const routes = enclaveRoutes(model);
  const route = routes.find(({ provider }) => provider === search.provider) ?? routes[0];
  const verifying = useChange({
    mutationFn: async ({ tier, ...asked }: EnclaveRouteShown & { readonly model: string; readonly apiKey: string }) => {
      const { verify, reportJson } = await loadClient();
      const report = await verify(confidentialOrigin, {
        enclave: { ...asked, privacyClass: tier, controlOrigin },
        ...(pins === undefined ? {} : { pins }),
      }).catch((error: unknown) => {
        throw shownError(error);
      });
      return { report, json: reportJson(report) };
    },
  });
  const choose = (part: { readonly model?: string; readonly provider?: string }): void => {
    verifying.reset();
    const next = part.model === undefined ? { ...search, ...part } : part;
    void navigate({ search: next, replace: true, resetScroll: false });
  };
  const enclave = verifying.data?.report.enclave;
  return (
    <div className="grid items-start gap-4 lg:grid-cols-[22rem_minmax(0,1fr)]">
      <div className="space-y-4">
        <Card>
          <form
            className="space-y-4"
            onSubmit={(event) => {
              event.preventDefault();
              if (model !== undefined && route !== undefined && tabKey !== undefined) {
                verifying.mutate({ ...route, model: model.id, apiKey: tabKey.key });
              }
            }}
          >
            <Combobox
              label="Model"
              value={model?.id ?? ''}
              options={modelOptions(models)}
              onChange={(chosen) => choose({ model: chosen })}
            />
            <SelectField
              label="Provider"
              value={route?.provider ?? ''}
              choices={routes.map(({ provider, tier }) => ({
                value: provider,
                label: `${provider} (${tiers[tier].name})`,
              }))}
              onChange={(provider) => choose({ provider })}
            />
            <Button type="submit" look="primary" busy={verifying.isPending} disabled={tabKey === undefined}>
              Verify the enclave
            </Button>
            {tabKey === undefined && <p className="text-sm text-muted">Make a key first, or bring one along.</p>}
          </form>
        </Card>
        <KeyCard workspace={workspace} tabKey={tabKey} onChange={setTabKey} />
      </div>
      <div aria-live="polite" className="min-w-0">
        {verifying.isPending ? (
          <Skeleton className="h-64 w-full" />
        ) : verifying.isError ? (
          <ErrorState error={verifying.error} />
        ) : enclave === undefined ? (
          <p className="rounded-2xl border border-dashed border-line-strong p-6 text-muted">
            Every check on the enclave is shown here.
          </p>
        ) : (
          <EnclaveReport enclave={enclave} json={verifying.data?.json ?? ''} />
        )}
      </div>
    </div>
  );
}
