import type { EnclaveVerification, VerificationReport } from '@sotto/client';
import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { type ModelAnswer, relaySentence } from '@sotto/wire';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { confidentialOrigin, controlOrigin } from '../../api/origins.ts';
import { modelsQuery } from '../../api/queries.ts';
import { useChange } from '../../api/use-change.ts';
import { formatInstant } from '../../format/format.ts';
import { KeyCard } from '../../inference-key/key-card.tsx';
import { useTabKey } from '../../inference-key/tab-key.ts';
import { modelOptions } from '../../models/model-options.ts';
import { tiers } from '../../ui/badge.tsx';
import { buttonClass } from '../../ui/button.tsx';
import { Combobox } from '../../ui/combobox.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { SelectField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Card, EmptyState, ErrorState, Loaded, Skeleton } from '../../ui/surface.tsx';
import { Facts, Sentence } from '../../ui/text.tsx';
import { CheckGroups } from '../../verification/checks.tsx';
import { loadClient, ownPins, throwShown } from '../../verification/client.ts';
import { currencyFact, VerdictBadge, verdictWords } from '../../verification/verdicts.tsx';
import { useWorkspace, WorkspaceLoading } from '../../workspaces/workspaces.tsx';
import { type EnclaveRouteShown, enclaveModels, enclaveRoutes } from './verify-rules.ts';

/** Hop 2: the provider's enclave behind a TEE or E2EE route. */
export function Enclave({ isSignedIn }: { isSignedIn: boolean }) {
  const { workspace } = useWorkspace();
  const query = useQuery(modelsQuery);
  const models = enclaveModels(query.data ?? []);
  return (
    <section className="space-y-4">
      <div>
        <h2 className="text-lg font-semibold">A provider’s enclave</h2>
        <p className="text-muted">
          A TEE or E2EE route leads to a second machine, the provider’s enclave. Verify it here for free.
        </p>
      </div>
      <Loaded query={query} label="The models are loading">
        {() =>
          models.length === 0 ? (
            <EmptyState title="No model runs in an enclave here" text="The catalog lists no TEE or E2EE route." />
          ) : !isSignedIn ? (
            <Card>
              <p className="mb-3">You need an inference key to get a provider’s evidence.</p>
              <Link to="/sign-in" search={{ return_to: '/verify' }} className={buttonClass('plain')}>
                Sign in
              </Link>
            </Card>
          ) : workspace === undefined ? (
            <WorkspaceLoading label="The workspace is loading" />
          ) : (
            <EnclaveForm workspace={workspace} models={models} />
          )
        }
      </Loaded>
    </section>
  );
}

interface EnclaveFormProps {
  readonly workspace: WorkspaceAnswer;
  /** Those that some enclave serves; at least one. */
  readonly models: readonly ModelAnswer[];
}

/** Verifies the enclave of a chosen model and provider, and shows the report. */
function EnclaveForm({ workspace, models }: EnclaveFormProps) {
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
      }).catch(throwShown);
      return { report, json: reportJson(report) };
    },
  });
  const choose = (part: { readonly model?: string; readonly provider?: string }): void => {
    verifying.reset();
    const next = part.model === undefined ? { ...search, ...part } : part;
    void navigate({ search: next, replace: true, resetScroll: false });
  };
  const verify = (): void => {
    if (model !== undefined && route !== undefined && tabKey !== undefined) {
      verifying.mutate({ ...route, model: model.id, apiKey: tabKey.key });
    }
  };
  const enclave = verifying.data?.report.enclave;
  return (
    <div className="grid items-start gap-4 lg:grid-cols-[22rem_minmax(0,1fr)]">
      <div className="space-y-4">
        <Card>
          <Form
            form={{ change: verifying, submit: verify }}
            action="Verify enclave"
            disabled={tabKey === undefined}
            showsErrors
            beside={
              tabKey === undefined && <p className="text-sm text-muted">Create a key first, or use an existing one.</p>
            }
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
          </Form>
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
            The checks of the enclave appear here.
          </p>
        ) : (
          <EnclaveReport enclave={enclave} json={verifying.data?.json ?? ''} />
        )}
      </div>
    </div>
  );
}

const gpuWords = {
  none: 'No evidence',
  refuted: 'Refuted',
  key_unpinned: 'Signed by a key that is not proven to be NVIDIA’s',
  token_checked: 'NVIDIA vouches for them',
} as const;

/** One verification of hop 2, or why there was nothing to look at. */
function EnclaveReport({
  enclave,
  json,
}: {
  readonly enclave: NonNullable<VerificationReport['enclave']>;
  readonly json: string;
}) {
  const copy = <CopyButton text={json} label="Copy the report as JSON" />;
  if (!('verdict' in enclave)) {
    return (
      <Card title="Verdict" actions={copy}>
        <p>
          <VerdictBadge verdict="unavailable" />
        </p>
        <p className="mt-2">
          <Sentence text={enclave.message} />
        </p>
        <p className="font-mono text-sm text-muted">{enclave.type}</p>
      </Card>
    );
  }
  const { verdict, provider, model, nonce, verifiedAt, gpu, checks } = enclave;
  return (
    <Card title="Verdict" actions={copy}>
      <div className="space-y-5">
        <p>
          <VerdictBadge verdict={verdict} />
          <span className="mt-1 block">{verdictWords[verdict].meaning}</span>
        </p>
        <Facts
          facts={[
            { name: 'Provider', value: provider },
            { name: 'Model', value: model },
            { name: 'Content', value: <Readers enclave={enclave} /> },
            currencyFact(enclave),
            {
              name: 'GPUs',
              value: gpu.reason === undefined ? gpuWords[gpu.standing] : `${gpuWords[gpu.standing]}: ${gpu.reason}`,
            },
            { name: 'Verified at', value: formatInstant(verifiedAt) },
            { name: 'Nonce of this browser', value: <code className="font-mono text-sm break-all">{nonce}</code> },
          ]}
        />
        <CheckGroups checks={checks} />
      </div>
    </Card>
  );
}

/** Who can read the content of requests on a verified route, and what a malicious broker can do besides. */
function Readers({ enclave: { contentVisible, relayAttacks } }: { readonly enclave: EnclaveVerification }) {
  if (relayAttacks === undefined) return 'This service can read it';
  return (
    <>
      {contentVisible ? 'The enclave and a malicious broker can read it' : 'Only the enclave can read it'}
      <span className="block text-sm text-muted">{relaySentence(relayAttacks)}</span>
    </>
  );
}
