export DS_ACCELERATOR=cpu
export OMP_NUM_THREADS=1

deepspeed --num_gpus 2 --master_port 29600 finetune.py \
    --sequence-length 128 \
    --deepspeed --deepspeed_config ds_config.json
