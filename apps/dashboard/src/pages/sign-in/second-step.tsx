import { useState } from 'react';
import { call } from '../../api/call.ts';
import { aboutWhatWasTyped, errorElsewhere } from '../../api/errors.ts';
import { useChange } from '../../api/use-change.ts';
import { Button } from '../../ui/button.tsx';
import { Form } from '../../ui/change-form.tsx';
import { TextField } from '../../ui/field.tsx';
import { Entry } from './entry.tsx';

const ways = {
  app: {
    route: 'POST /v1/auth/two-factor/verify-totp',
    label: 'Code of your authenticator app',
    inputMode: 'numeric',
    other: 'Use a backup code instead',
  },
  backup: {
    route: 'POST /v1/auth/two-factor/verify-backup-code',
    label: 'Backup code',
    inputMode: 'text',
    other: 'Use the authenticator app instead',
  },
} as const;

interface SecondStepProps {
  readonly onDone: () => Promise<void>;
  readonly onBack: () => void;
}

/** After the password: asks for a code of the app, or for a backup code. */
export function SecondStep(props: SecondStepProps) {
  return (
    <Entry title="One more step" lead="Enter your second factor.">
      <SecondStepForm {...props} />
    </Entry>
  );
}

export function SecondStepForm({ onDone, onBack }: SecondStepProps) {
  const [which, setWhich] = useState<keyof typeof ways>('app');
  const { route, label, inputMode, other } = ways[which];
  const showing = useChange({
    mutationFn: (code: string) => aboutWhatWasTyped(call(route, { body: { code } })),
    onSuccess: onDone,
  });
  return (
    <>
      <Form
        change={showing}
        errors="inside"
        action="Sign in"
        wide
        onSubmit={(field) => showing.mutate(field('code').trim())}
      >
        <TextField
          key={which}
          label={label}
          name="code"
          inputMode={inputMode}
          autoComplete={which === 'app' ? 'one-time-code' : 'off'}
          autoCapitalize="off"
          spellCheck={false}
          autoFocus
          required
          error={errorElsewhere(showing.error)}
        />
      </Form>
      <div className="mt-4 flex flex-wrap justify-between gap-2">
        <Button
          look="quiet"
          small
          onClick={() => {
            showing.reset();
            setWhich(which === 'app' ? 'backup' : 'app');
          }}
        >
          {other}
        </Button>
        <Button look="quiet" small onClick={onBack}>
          Start again
        </Button>
      </div>
    </>
  );
}
