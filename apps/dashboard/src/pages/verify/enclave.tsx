import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { modelsQuery } from '../../api/models.ts';
import { buttonClass } from '../../ui/button.tsx';
import { Loading } from '../../ui/skeleton.tsx';
import { Card, EmptyState, ErrorState } from '../../ui/surface.tsx';
import { useWorkspace } from '../../workspaces/workspaces.ts';
import { EnclaveForm } from './enclave-form.tsx';
import { enclaveModels } from './enclave-models.ts';

/** Hop 2: the provider's enclave behind a TEE or E2EE route. */
export function Enclave({ isSignedIn }: { isSignedIn: boolean }) {
  const { workspace } = useWorkspace();
  const { data, error, refetch } = useQuery(modelsQuery);
  const models = enclaveModels(data ?? []);
  return (
    <section className="space-y-4">
      <div>
        <h2 className="text-lg font-semibold">A provider’s enclave</h2>
        <p className="text-muted">
          Behind a TEE or E2EE route stands another machine. It is verified by itself, with another nonce. That is free.
        </p>
      </div>
      {error !== null ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : data === undefined ? (
        <Loading label="The models are loading" />
      ) : models.length === 0 ? (
        <EmptyState title="No model runs in an enclave here" text="The catalog lists no TEE or E2EE route." />
      ) : !isSignedIn ? (
        <Card>
          <p className="mb-3">It takes an inference key to ask for a provider’s evidence.</p>
          <Link to="/sign-in" search={{ return_to: '/verify' }} className={buttonClass('plain')}>
            Sign in
          </Link>
        </Card>
      ) : workspace === undefined ? (
        <Loading label="The workspace is loading" />
      ) : (
        <EnclaveForm workspace={workspace} models={models} />
      )}
    </section>
  );
}
