/*
 * archive_commands.h - the commands of amber-archive, one file each.
 *
 * argv[0] is the command's name; each returns an exit code of archive_cli.h.
 */
#ifndef AMBER_ARCHIVE_ARCHIVE_COMMANDS_H
#define AMBER_ARCHIVE_ARCHIVE_COMMANDS_H

int	check_main(int argc, char **argv);
int	export_main(int argc, char **argv);
int	extract_main(int argc, char **argv);
int	list_main(int argc, char **argv);
int	prove_main(int argc, char **argv);
int	repair_main(int argc, char **argv);
int	show_main(int argc, char **argv);
int	stats_main(int argc, char **argv);
int	verify_main(int argc, char **argv);

#endif
