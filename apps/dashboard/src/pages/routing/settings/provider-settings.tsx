import type { ModelAnswer, PrivacyClass } from '@sotto/wire';
import { privacyClasses } from '@sotto/wire';
import { formatCountOf } from '../../../format/format.ts';
import { Badge, TierBadge } from '../../../ui/badge.tsx';
import { CheckList } from '../../../ui/check-list.tsx';
import { Card } from '../../../ui/surface.tsx';
import type { SettingsProps } from '../draft.ts';

/** Which providers the workspace never uses. */
export function ProviderSettings({
  draft,
  change,
  disabled,
  models,
}: SettingsProps & { readonly models: readonly ModelAnswer[] }) {
  const ignored = draft.provider_ignore;
  const providers = knownProviders(models, ignored);
  return (
    <Card
      title="Providers"
      lead="This workspace never uses providers that are not selected. Requests cannot override this."
    >
      <CheckList
        legend="Providers in use"
        searchLabel="Search providers"
        disabled={disabled}
        isChecked={(id) => !ignored.includes(id)}
        onToggle={(id, checked) =>
          change({ provider_ignore: checked ? ignored.filter((one) => one !== id) : [...ignored, id] })
        }
        items={providers.map(({ id, models: count, tiers, ignoredBy }) => ({
          id,
          label: id,
          detail: (
            <span className="flex flex-wrap items-center justify-end gap-1.5">
              {ignoredBy !== undefined && <Badge tone="warn">off with {ignoredBy}</Badge>}
              <span className="text-sm text-muted">{formatCountOf(count, 'model')}</span>
              {tiers.map((tier) => (
                <TierBadge key={tier} tier={tier} />
              ))}
            </span>
          ),
        }))}
      />
    </Card>
  );
}

interface KnownProvider {
  readonly id: string;
  /** How many models it serves. */
  readonly models: number;
  /** Of its routes, weakest first. */
  readonly tiers: readonly PrivacyClass[];
  /** The disabled provider that it is a variant or region of. */
  readonly ignoredBy: string | undefined;
}

/** Every provider that serves a model, and every ignored one, by id. */
export function knownProviders(models: readonly ModelAnswer[], ignored: readonly string[]): readonly KnownProvider[] {
  const routes = models.flatMap((model) => model.provider_routes.map((route) => ({ model: model.id, ...route })));
  const ids = [...new Set([...routes.map(({ provider }) => provider), ...ignored])].toSorted();
  return ids.map((id) => {
    const own = routes.filter(({ provider }) => provider === id);
    const classes = new Set(own.map(({ privacy_class }) => privacy_class));
    return {
      id,
      models: new Set(own.map(({ model }) => model)).size,
      tiers: privacyClasses.filter((tier) => classes.has(tier)),
      ignoredBy: ignored.find((one) => id.startsWith(`${one}/`)),
    };
  });
}
