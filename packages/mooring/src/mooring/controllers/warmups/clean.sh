# Removes what Mooring has put into one folder of a node: the store and the links into it. Everything else stays.
set -u
folder="${MOORING_ROOT:-}$MOORING_LOCAL_PATH"
[ -d "$folder" ] || exit 0
for place in "$folder"/[0-9][0-9]*; do
    [ -L "$place" ] || continue
    target=$(readlink "$place") || exit 1
    case $target in .mooring/*) rm -f "$place" || exit 1 ;; esac
done
rm -rf "$folder/.mooring" || exit 1
echo "mooring: the data in $folder is removed"
