# shellcheck shell=bash
# Sourced by lab.sh: builds the guest's kernel and initramfs from Debian packages, which it extracts
# and never installs. Needs $image, $debs, $lab_scripts, say and die. kernel.sh finds the kernel.

guest_packages=(
    busybox-static dash iproute2 libc6 libgcc-s1
    ibverbs-utils ibverbs-providers libibverbs1 rdmacm-utils librdmacm1 perftest
    # what the others need
    libbpf1 libbsd0 libcap2 libcom-err2 libcrypt1 libdb5.3 libelf1 libgssapi-krb5-2 libibumad3
    libk5crypto3 libkeyutils1 libkrb5-3 libkrb5support0 libmd0 libmnl0 libnl-3-200
    libnl-route-3-200 libpci3 libpcre2-8-0 libselinux1 libssl3 libtirpc3 libudev1 libxtables12
    libzstd1 zlib1g
)
guest_programs=(
    ip ss rdma tc dash ibv_devinfo ibv_rc_pingpong rping
    ib_write_bw ib_write_lat ib_read_bw ib_read_lat ib_send_bw ib_send_lat ib_atomic_bw
)
guest_modules=(
    virtio_pci virtio_net virtio_console virtio_rng 9p 9pnet_virtio
    rdma_rxe ib_uverbs rdma_ucm sch_netem 8021q
)
# Not in every kernel: built in, or gone (crc32_generic with 6.14).
optional_modules=(crc32_generic)
libdir=usr/lib/x86_64-linux-gnu

# Names without versions: a working image is used until `clean`, also without a network.
image_stamp() {
    { echo "${guest_packages[*]} ${guest_programs[*]} ${guest_modules[*]} ${optional_modules[*]}" &&
        cat "$lab_scripts"/{guest-init,image.sh,kernel.sh}; } | sha256sum
}

build_image() {
    mkdir -p "$image" "$debs"
    exec 8>"$image/lock"
    flock 8
    if [[ -s $image/initrd && -s $image/kernel &&
        $(cat "$image/stamp" 2>/dev/null) == "$(image_stamp)" ]]; then
        exec 8>&-
        return
    fi
    say "building the guest's image (once) in $image"
    local work=$image/work
    rm -rf "$work" "$image/stamp"
    mkdir -p "$work"/{packages,kernel,root}
    download "${guest_packages[@]}"
    extract "$work/packages" "${guest_packages[@]}"
    fetch_kernel "$work/kernel"
    fill_root "$work"
    copy_modules "$work"
    (cd "$work/root" && find . | cpio --quiet -o -H newc) >"$image/initrd" || die "cpio failed"
    unpack_kernel "$work"
    rm -rf "$work" "$image/accelerator"
    image_stamp >"$image/stamp"
    exec 8>&-
}

newest_deb() { # package -> its newest .deb in $debs
    find "$debs" -name "$1_*.deb" -printf '%T@ %p\n' | sort -rn | sed -n '1s/^[^ ]* //p'
}

# apt-get download checks each package against the signed lists.
download() {
    local package missing=()
    for package in "$@"; do
        [[ -n $(newest_deb "$package") ]] || missing+=("$package")
    done
    [[ ${#missing[@]} != 0 ]] || return 0
    say "downloading ${#missing[@]} packages"
    (cd "$debs" && apt-get download -qq -o APT::Sandbox::User=root "${missing[@]}") >&2 ||
        die "apt-get download failed (no network, or apt-get update is due)"
}

extract() {
    local folder=$1 package
    shift
    for package in "$@"; do
        dpkg-deb -x "$(newest_deb "$package")" "$folder" || die "cannot extract $package"
    done
}

first_of() { # the first existing file
    local file
    for file in "$@"; do
        [[ ! -f $file ]] || { echo "$file" && return; }
    done
    die "none of these is in the packages: $*"
}

# Copies an ELF file and the libraries that it needs, from the extracted packages only.
copy_elf() {
    local work=$1 from=$2 to=$3 packages=$1/packages loader list library
    loader=$(first_of "$packages"/{lib,usr/lib}/x86_64-linux-gnu/ld-linux-x86-64.so.2)
    list=$("$loader" --library-path "$packages/lib/x86_64-linux-gnu:$packages/$libdir" \
        --list "$from" 2>&1) || true
    ! grep 'not found' <<<"$list" >&2 || die "libraries are missing for $from"
    cp -L "$from" "$to"
    while read -r library; do
        [[ -e $work/root/$libdir/${library##*/} ]] || cp -L "$library" "$work/root/$libdir/"
    done < <(sed -n 's/.*=> \(\/[^ ]*\).*/\1/p' <<<"$list")
}

fill_root() {
    local work=$1 root=$1/root packages=$1/packages program provider
    mkdir -p "$root"/{bin,sbin,dev,proc,sys,run,tmp,root,host,lib64,usr/bin,usr/lib/modules} \
        "$root"/etc/libibverbs.d "$root/$libdir/libibverbs"
    ln -s usr/lib "$root/lib"
    cp "$(first_of "$packages"/{,usr/}bin/busybox)" "$root/bin/busybox"
    cp -L "$(first_of "$packages"/{lib,usr/lib}/x86_64-linux-gnu/ld-linux-x86-64.so.2)" \
        "$root/lib64/"
    # pthread_exit loads it by name; without it rping aborts.
    cp -L "$(first_of "$packages"/{lib,usr/lib}/x86_64-linux-gnu/libgcc_s.so.1)" "$root/$libdir/"
    # veriroce-agent names the libraries that glibc had apart before 2.34.
    local library
    for library in libpthread.so.0 libdl.so.2 librt.so.1 libm.so.6; do
        cp -L "$(first_of "$packages"/{lib,usr/lib}/x86_64-linux-gnu/"$library")" "$root/$libdir/"
    done
    for program in "${guest_programs[@]}"; do
        copy_elf "$work" "$(first_of "$packages"/{,usr/}{bin,sbin}/"$program")" \
            "$root/usr/bin/$program"
    done
    provider=$(first_of "$packages/$libdir"/libibverbs/librxe-rdmav*.so)
    copy_elf "$work" "$provider" "$root/$libdir/libibverbs/${provider##*/}"
    echo 'driver rxe' >"$root/etc/libibverbs.d/rxe.driver"
    echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
    echo 'root:x:0:' >"$root/etc/group"
    echo '127.0.0.1 localhost' >"$root/etc/hosts"
    install -m 755 "$lab_scripts/guest-init" "$root/init"
}

copy_modules() {
    local work=$1 kernel=$1/kernel version module file to
    version=$(ls "$kernel/lib/modules")
    depmod -b "$kernel" "$version" || die "depmod failed"
    mkdir -p "$work/root/usr/lib/modules/$version"
    for module in "${guest_modules[@]}" "${optional_modules[@]}"; do
        modprobe -d "$kernel" -S "$version" --show-depends "$module" 2>"$work/modprobe.txt" &&
            continue
        [[ " ${optional_modules[*]} " == *" $module "* ]] && continue
        cat "$work/modprobe.txt" >&2
        die "the kernel has no module $module"
    done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | sort -u | while read -r file; do
        to=$work/root/usr/lib/modules/${file#*/lib/modules/}
        install -D -m 644 "$file" "$to"
        # busybox's insmod may not know the packed form.
        case $file in
            *.xz) xz -d "$to" ;;
            *.zst) zstd -q -d --rm "$to" ;;
            *.gz) gzip -d "$to" ;;
        esac
    done
    cp "$kernel/lib/modules/$version"/modules.{order,builtin,builtin.modinfo} \
        "$work/root/usr/lib/modules/$version/"
    depmod -b "$work/root" "$version"
    [[ -s $work/root/usr/lib/modules/$version/modules.dep ]] || die "depmod wrote nothing"
}

# QEMU boots the ELF kernel inside the bzImage directly, which takes half the time under emulation.
unpack_kernel() {
    local work=$1 packed=$1/kernel/packed offset
    cp -L "$packed" "$image/kernel"
    for offset in $(LC_ALL=C grep -abo $'\xfd7zXZ' "$packed" | cut -d: -f1); do
        tail -c "+$((offset + 1))" "$packed" | xz -dc --single-stream \
            >"$work/vmlinux" 2>/dev/null || true # what follows the stream is not xz
        if [[ $(head -c 4 "$work/vmlinux" | tail -c 3) == ELF ]]; then
            mv "$work/vmlinux" "$image/kernel"
            return
        fi
    done
}

# Checks whether a stock kernel boots under KVM here: on nested hosts it often does not.
accelerator() {
    if [[ $LAB_ACCEL != auto ]]; then
        echo "$LAB_ACCEL"
        return
    fi
    if [[ ! -s $image/accelerator ]]; then
        local log=$image/kvm-probe.log choice=tcg
        if [[ -w /dev/kvm ]]; then
            rm -f "$log"
            timeout -k 1 12 qemu-system-x86_64 -accel kvm -m 256 -nodefaults -display none \
                -serial "file:$log" -no-reboot -kernel "$image/kernel" \
                -append 'console=ttyS0 earlyprintk=serial,ttyS0 panic=-1' \
                </dev/null >/dev/null 2>&1 || true
            # The probe has no root file system: a kernel that complains about that has booted.
            ! grep -q 'Kernel panic\|Unable to mount root' "$log" 2>/dev/null || choice=kvm
        fi
        echo "$choice" >"$image/accelerator"
    fi
    cat "$image/accelerator"
}
