import { TextField, type TextFieldProps } from '../../ui/field.tsx';

/** The password that the account has. */
export function CurrentPasswordField({
  name = 'password',
  ...field
}: Pick<TextFieldProps, 'label' | 'name' | 'error' | 'autoFocus'>) {
  return <TextField {...field} name={name} type="password" autoComplete="current-password" required />;
}

/** A password that the user chooses. */
export function NewPasswordField({ label = 'New password' }: { label?: string }) {
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
    />
  );
}
