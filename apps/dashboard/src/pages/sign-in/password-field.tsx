import { TextField } from '../../ui/field.tsx';

/** A password that is chosen, not one that is known. */
export function NewPasswordField({ label = 'New password', error }: { label?: string; error?: string | undefined }) {
  return (
    <TextField
      label={label}
      name="newPassword"
      type="password"
      autoComplete="new-password"
      minLength={8}
      maxLength={128}
      hint="At least 8 characters."
      required
      error={error}
    />
  );
}
