import { useState } from 'react';
import { useForm } from '../../api/use-form.ts';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Entry } from './entry.tsx';

const ways = {
  app: {
    route: 'POST /v1/auth/two-factor/verify-totp',
    label: 'Code of your authenticator app',
    inputMode: 'numeric',
    autoComplete: 'one-time-code',
    other: 'Use a backup code instead',
  },
  backup: {
    route: 'POST /v1/auth/two-factor/verify-backup-code',
    label: 'Backup code',
    inputMode: 'text',
    autoComplete: 'off',
    other: 'Use the authenticator app instead',
  },
} as const;

type Way = keyof typeof ways;

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
  const [which, setWhich] = useState<Way>('app');
  return (
    <>
      <CodeForm key={which} {...ways[which]} onDone={onDone} />
      <div className="mt-4 flex flex-wrap justify-between gap-2">
        <Button look="quiet" small onClick={() => setWhich(which === 'app' ? 'backup' : 'app')}>
          {ways[which].other}
        </Button>
        <Button look="quiet" small onClick={onBack}>
          Start again
        </Button>
      </div>
    </>
  );
}

function CodeForm({
  route,
  label,
  inputMode,
  autoComplete,
  onDone,
}: (typeof ways)[Way] & Pick<SecondStepProps, 'onDone'>) {
  const form = useForm(route, { onSuccess: onDone });
  return (
    <Form form={form} action="Sign in" wide>
      <TextField
        {...form.text('code', { every: true })}
        label={label}
        inputMode={inputMode}
        autoComplete={autoComplete}
        autoCapitalize="off"
        spellCheck={false}
        autoFocus
      />
    </Form>
  );
}
