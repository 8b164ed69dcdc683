import { TextField, type TextFieldProps } from './field.tsx';
import { useDraft } from './use-draft.ts';

export interface DayFieldProps extends Pick<TextFieldProps, 'label' | 'hint' | 'error' | 'className'> {
  /** `2026-11-21`. */
  readonly value: string;
  readonly onChange: (day: string) => void;
}

/** A day, by the browser's own control. What is half typed is not told. */
export function DayField({ value, onChange, ...field }: DayFieldProps) {
  const draft = useDraft(value, (typed) => {
    if (/^\d{4}-\d\d-\d\d$/.test(typed)) onChange(typed);
  });
  return <TextField {...field} type="date" min="2020-01-01" max="2099-12-31" {...draft} />;
}
