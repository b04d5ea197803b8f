export const routeName = 'from-another-file';
