import type { ModelAnswer } from '@sotto/wire';
import { Badge, TierBadge } from '../../../ui/badge.tsx';
import { CheckList } from '../../../ui/check-list.tsx';
import { Card } from '../../../ui/surface.tsx';
import { knownProviders } from '../providers.ts';
import type { SettingsProps } from './settings-props.ts';

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
      lead="A provider that is not ticked is never used for this workspace; no request can bring it back."
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
              <span className="text-sm text-muted">{count === 1 ? '1 model' : `${String(count)} models`}</span>
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
