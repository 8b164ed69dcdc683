import { TextField, type TextFieldProps } from '../../ui/field.tsx';

/** The password that the account has. */
export const CurrentPasswordField = (field: TextFieldProps) => (
  <TextField {...field} type="password" autoComplete="current-password" required />
);

/** A password that the user chooses. */
export const NewPasswordField = (field: TextFieldProps) => (
  <TextField {...field} type="password" autoComplete="new-password" hint="At least 8 characters." required />
);
