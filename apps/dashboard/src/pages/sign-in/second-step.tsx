import { type FormEvent, useState } from 'react';
import { call, sentenceOf } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { Button } from '../../ui/button.tsx';
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

/** After the password: a code of the app, or one that was kept for when it is lost. */
export function SecondStep({ onDone, onBack }: { onDone: () => Promise<void>; onBack: () => void }) {
  const [which, setWhich] = useState<keyof typeof ways>('app');
  const { route, label, inputMode, other } = ways[which];
  const showing = useChange({
    mutationFn: (code: string) => call(route, { body: { code } }),
    onSuccess: onDone,
  });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    showing.mutate(String(new FormData(event.currentTarget).get('code')).trim());
  };
  return (
    <Entry title="One more step" lead="Your account asks for a second factor.">
      <form onSubmit={submit} className="space-y-4">
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
          error={showing.isError ? sentenceOf(showing.error) : undefined}
        />
        <Button type="submit" look="primary" busy={showing.isPending} className="w-full">
          Sign in
        </Button>
      </form>
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
          Begin again
        </Button>
      </div>
    </Entry>
  );
}
