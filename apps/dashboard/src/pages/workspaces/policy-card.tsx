import type { WorkspacePolicyAnswer } from '@sotto/contract/control/policies';
import { isRoleAtLeast } from '@sotto/contract/control/workspace-role';
import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { allKeys } from '../../api/keys.ts';
import { policyQuery } from '../../api/queries.ts';
import { useForm } from '../../api/use-form.ts';
import { formatCountOf, formatExactUsd } from '../../format/format.ts';
import { TextAreaField, TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Card, Loaded } from '../../ui/surface.tsx';
import { Facts } from '../../ui/text.tsx';
import { CheckField } from '../../ui/toggle-fields.tsx';

/** The policy, which admins set and members read. */
export function PolicyCard({ workspace: { id, role } }: { workspace: WorkspaceAnswer }) {
  const manages = isRoleAtLeast(role, 'admin');
  return (
    <Card
      title="Policy for keys"
      lead={
        manages
          ? 'It binds all keys of this workspace at once, also existing keys and your own. Only admins can change it.'
          : 'It binds all keys of this workspace. Only admins can change it.'
      }
    >
      <Loaded query={useQuery(policyQuery(id))} label="The policy is loading">
        {(policy) => (manages ? <PolicyForm id={id} policy={policy} /> : <PolicyFacts policy={policy} />)}
      </Loaded>
    </Card>
  );
}

function PolicyForm({ id, policy }: { id: string; policy: WorkspacePolicyAnswer }) {
  const client = useQueryClient();
  const form = useForm('PUT /v1/workspaces/{id}/policy', {
    params: { id },
    start: policy,
    clears: ['allowed_models', 'max_key_limit_usd', 'max_key_days', 'openai_compatible'],
    refreshes: allKeys,
    onSuccess: (saved) => client.setQueryData(policyQuery(id).queryKey, saved),
    says: 'The policy is saved. It applies from the next request.',
  });
  return (
    <Form form={form} action="Save policy" look="plain" className="space-y-5">
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <TextAreaField
          {...form.text('allowed_models')}
          label="Allowed models"
          hint="One id or pattern a line, such as “acme/*”. “/auto” chooses among them. Empty: all models."
          placeholder="All models"
          spellCheck={false}
          rows={4}
        />
        <div className="space-y-5">
          <TextField
            {...form.text('max_key_limit_usd')}
            label="Largest limit of a key ($)"
            hint="The total that one key can spend. Keys without a limit get this one. Empty: none is needed."
            placeholder="No bound"
          />
          <TextField
            {...form.text('max_key_days', { mistake: 'Enter whole days from 1 to 3,650, or leave it empty.' })}
            label="Days until a key expires"
            hint="At most so many days after it was created. A new secret does not prolong it. Empty: they need not expire."
            placeholder="No bound"
          />
        </div>
      </div>
      <CheckField
        {...form.toggle('openai_compatible')}
        label="Keys may work with any OpenAI client"
        hint="If not, keys only get tickets and never travel with content."
      />
    </Form>
  );
}

const PolicyFacts = ({ policy }: { policy: WorkspacePolicyAnswer }) => (
  <Facts
    facts={[
      { name: 'Allowed models', value: policy.allowed_models?.join(', ') ?? 'All' },
      {
        name: 'Largest limit of a key',
        value: policy.max_key_limit_usd === null ? 'No bound' : formatExactUsd(policy.max_key_limit_usd),
      },
      {
        name: 'Keys expire within',
        value: policy.max_key_days === null ? 'No bound' : formatCountOf(policy.max_key_days, 'day'),
      },
      { name: 'Any OpenAI client', value: policy.openai_compatible ? 'Allowed' : 'Not allowed: tickets only' },
    ]}
  />
);
