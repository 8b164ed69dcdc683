import type { FormEvent, ReactNode } from 'react';
import { sentenceOf } from '../../api/call.ts';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';

export interface PasswordFormProps {
  readonly action: string;
  readonly look?: 'primary' | 'danger';
  readonly busy: boolean;
  readonly error: unknown;
  readonly onPassword: (password: string) => void;
  readonly onCancel: () => void;
  readonly children?: ReactNode;
}

/** Asks for the password again before what opens the account is changed. */
export function PasswordForm(props: PasswordFormProps) {
  const { action, look = 'primary', busy, error, onPassword, onCancel, children } = props;
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    onPassword(String(new FormData(event.currentTarget).get('password')));
  };
  return (
    <form onSubmit={submit} className="space-y-4">
      {children}
      <TextField
        label="Your password"
        name="password"
        type="password"
        autoComplete="current-password"
        required
        error={error === null ? undefined : sentenceOf(error)}
      />
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" look={look} busy={busy}>
          {action}
        </Button>
      </div>
    </form>
  );
}
